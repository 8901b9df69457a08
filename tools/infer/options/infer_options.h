// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"
#include "models/tasks/ranking/bert_ranking.h"
#include "tools/infer/shards/shard.h"
#include "tools/infer/task_table.h"

namespace bert::tools {

// bert-infer's command line, checked as far as possible without opening a file.
struct InferOptions {
  std::optional<std::string> model;    // none: the demo model
  std::vector<std::string> arguments;  // the texts of the command line; none: read `input`
  std::string input = "-";
  InputFormat input_format = InputFormat::tsv;
  std::string output = "-";
  OutputFormat output_format = OutputFormat::jsonl;
  std::string projector;  // a directory, of which `output` is a file; none: ""
  Shard shard;            // of the input's lines
  bool resumes = false;   // goes on with what an interrupted run has left
  Task task = Task::automatic;
  std::vector<std::string> keep;           // keys of input lines that are passed through
  bool skips_errors = false;               // lines that are no inputs are answered with an error
  bool quiet = false;                      // errors alone on stderr
  int top_k = 5;                           // fill_mask, and labels if it is given
  float threshold = 0;                     // labels
  bool normalize = false;                  // embeddings
  bert::Role role = bert::Role::document;  // multi_vector
  int truncate_dim = 0;                    // embeddings; 0: as many numbers as the model gives
  std::vector<int> layers;                 // hidden, attention
  std::vector<std::string> labels;         // zero_shot, tag
  bert::ZeroShotOptions zero_shot;
  std::string query;                             // rank
  std::string corpus;                            // search: a file of texts
  bool corpus_is_vectors = false;                // it has vectors, not texts
  InputFormat corpus_format = InputFormat::tsv;  // by its ending
  bool reads_corpus = false;                     // these are for its lines, which keep nothing
  std::vector<std::string> special_options;      // given options that not every task takes
  bert::AnswerOptions answer;
  bert::TagOptions tag;  // its labels are above
  bert::Options load;

  // Throws UsageError if an option was given that the task does not take, or if it lacks one.
  void check_task(Task task) const;
  void check_labels() const;  // the same for --task tag
  // Throws UsageError if the output's format cannot hold the task's answers, or what else is asked
  // to be in it.
  void check_output(Task task) const;
  // The same for --html and --projector.
  void check_page(Task task) const;
  bool is_given(std::string_view special_option) const;
  // Whether the most probable labels are asked for.
  bool ranks_labels() const { return is_given("--top-k") || is_given("--threshold"); }
};

class InferCommandLine {
 public:
  static const char* const kManual;
  void declare(CLI::App& app);
  // Nothing if there is neither a text nor an input and stdin is a terminal: the manual is then
  // printed on stderr. Throws UsageError if the options contradict each other.
  std::optional<InferOptions> options() const;

 private:
  InputFormat input_format(const char* name_of_option, const std::string& input,
                           const CLI::Option* format) const;
  void check_ranking(InferOptions& options) const;
  void set_output(InferOptions& options) const;
  void check_texts() const;
  void declare_input(CLI::App& app);
  void declare_output(CLI::App& app);
  void declare_special(CLI::App& app);
  void declare_load(CLI::App& app);

  // As given, before they are checked against each other.
  std::string model_, input_, task_ = "auto";
  // Where answers go: options of which one at most is given.
  struct OutputOption {
    const char *names, *value;
    std::optional<OutputFormat> page = {};  // none: the path or --output-format says which format
    std::string path = {};
    CLI::Option* option = nullptr;
  };
  std::array<OutputOption, 3> outputs_ = {{{"-o,--output", "FILE"},
                                           {"--html", "FILE", OutputFormat::html},
                                           {"--projector", "DIR", OutputFormat::projector}}};
  // Each text is an option of its own: CLI11 reads "[x]" as a list where an option may have several
  // values.
  static constexpr size_t kMaxTexts = 32;
  std::array<std::string, kMaxTexts> texts_;
  std::array<const CLI::Option*, kMaxTexts> text_options_;
  InferOptions given_;  // what needs no more than its own option
  const CLI::Option *model_option_, *input_option_, *input_format_option_, *output_format_option_;
  const CLI::Option *keep_option_, *on_error_option_, *shard_option_, *resume_option_;
  std::vector<std::string> more_texts_;
  std::vector<const CLI::Option*> special_options_;
};

}  // namespace bert::tools
