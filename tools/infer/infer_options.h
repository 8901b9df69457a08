// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"
#include "tools/console/input_lines.h"
#include "tools/infer/answer_writer.h"

namespace bert::tools {

// bert-infer's command line, checked as far as it can be without opening a file.
struct InferOptions {
  std::optional<std::string> model;    // none: the demo model
  std::vector<std::string> arguments;  // the texts of the command line; none: read `input`
  std::string input = "-";
  InputFormat input_format = InputFormat::tsv;
  std::string output = "-";
  OutputFormat output_format = OutputFormat::jsonl;
  Task task = Task::automatic;
  int top_k = 5;                     // fill_mask
  std::vector<int> layers;           // hidden, attention
  std::vector<std::string> by_task;  // options given that only some tasks have
  bert::AnswerOptions answer;
  bert::Options load;

  // Throws UsageError where an option was given that the task does not have, or lacks one.
  void check_task(Task task) const;
};

const char* task_name(Task task);  // as --task has it

class InferCommandLine {
 public:
  static const char* const kManual;
  void declare(CLI::App& app);
  // None where there is neither a text nor an input and nobody pipes one in: the manual is then
  // printed on stderr. Throws UsageError where the options do not go together.
  std::optional<InferOptions> options() const;

 private:
  InputFormat input_format(const std::string& input) const;

  // What the options say, before it is checked that they go together.
  std::string model_, input_, input_format_, output_, task_ = "auto";
  // Options of their own, as CLI11 reads "[x]" as a list where an option may have several values.
  static constexpr size_t kMostTexts = 32;
  std::array<std::string, kMostTexts> texts_;
  std::array<const CLI::Option*, kMostTexts> text_options_;
  InferOptions given_;  // top_k, layers, answer and load
  const CLI::Option *model_option_, *input_option_, *input_format_option_, *output_option_;
  std::vector<std::string> more_texts_;
  std::vector<const CLI::Option*> by_task_;
};

}  // namespace bert::tools
