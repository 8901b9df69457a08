// SPDX-License-Identifier: Apache-2.0
//
// The texts of a corpus that are most similar to each query.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/console/lines/input_lines.h"
#include "tools/console/numbers.h"
#include "tools/console/progress.h"
#include "tools/console/signals/stop.h"
#include "tools/infer/answers/ranking/ranking_answers.h"
#include "tools/infer/inputs/vector_file.h"
#include "tools/infer/inputs/window_reader.h"

namespace bert::tools {
namespace {

// The same options for the lines of the corpus, which are all read, and all must be texts.
InferOptions corpus_options(const InferOptions& options) {
  InferOptions of_corpus = options;
  of_corpus.input = options.corpus;
  of_corpus.input_format = options.corpus_format;
  of_corpus.shard = {};
  of_corpus.reads_corpus = true;
  of_corpus.skips_errors = false;
  return of_corpus;
}

class SearchAnswers final : public Answers {
 public:
  SearchAnswers(const InferOptions& options, const LoadedModel& loaded)
      : corpus_(*loaded.model),
        most_(options.is_given("--top-k") ? options.top_k : kUsualMatches),
        has_headings_(options.arguments.size() != 1) {
    if (options.corpus_is_vectors) {
      read_vectors(options.corpus);
    } else {
      read_texts(corpus_options(options), loaded);
    }
  }

  void compute(const Window& window, size_t first, size_t count) override {
    queries_.clear();
    for (size_t i = first; i < first + count; ++i) queries_.push_back(window.texts[i].first);
    found_ = corpus_.search(queries_, most_);
  }

  Size size(size_t i) const override { return {found_[i].tokens, found_[i].truncated}; }

  void append_json(std::string& line, size_t i) const override {
    nlohmann::ordered_json matches = nlohmann::ordered_json::array();
    for (const bert::Match& match : found_[i].best) {
      matches.push_back({{"corpus_index", match.index}, {"score", json_number(match.score)}});
      if (!texts_.empty()) matches.back()["text"] = texts_[static_cast<size_t>(match.index)];
    }
    append_members(line, {{"matches", matches}});
  }

  std::string text(size_t i) const override {
    std::string text = has_headings_ ? tokenizer::printable(queries_[i]) : "";
    for (const bert::Match& match : found_[i].best) {
      text += fmt::format("{}{:8.4f}  {}", text.empty() ? "" : "\n", match.score,
                          texts_.empty()
                              ? fmt::format("{}", match.index)
                              : tokenizer::printable(texts_[static_cast<size_t>(match.index)]));
    }
    return text;
  }

 private:
  // As many as sentence-transformers' semantic_search() gives.
  static constexpr int kUsualMatches = 10;

  void read_vectors(const std::string& path) {
    constexpr int64_t kAtOnce = 4096;
    VectorFile file(path);
    if (file.rows() == 0) throw std::runtime_error(path + ": there are no vectors");
    while (corpus_.size() < file.rows()) {
      try {
        corpus_.add_vectors(file.take(kAtOnce));
      } catch (const bert::Error& error) {
        throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
      }
    }
    spdlog::info("corpus {}: {}, {:.1f} MB", path, counted(corpus_.size(), "vector"),
                 static_cast<double>(corpus_.memory()) / 1e6);
  }

  void read_texts(const InferOptions& options, const LoadedModel& loaded) {
    const InputFile input(options.input);
    const Stop stop;
    const InputMaker maker(options, loaded);
    Progress progress(!options.quiet, false, input.fd());
    const auto begin = std::chrono::steady_clock::now();
    // The vectors of many texts are computed in batches of texts of similar length.
    const int64_t capacity = int64_t{4} * options.load.batch_tokens;
    WindowReader reader(input.fd(), input.name(), stop, maker, options, 0, capacity);
    for (Window window = reader.take(); !window.empty() && stop.signal() == 0;
         window = reader.take()) {
      add(window, input.name());
      progress.inputs = corpus_.size();
      progress.show();
    }
    if (stop.signal() != 0) stop.end_process();
    progress.clear();
    if (corpus_.size() == 0) throw std::runtime_error(input.name() + ": there are no texts");
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    spdlog::info("corpus {}: {} in {:.1f} s, {:.1f} MB of vectors, {:.1f} MB of text", input.name(),
                 counted(corpus_.size(), "text"), seconds.count(),
                 static_cast<double>(corpus_.memory()) / 1e6, static_cast<double>(bytes_) / 1e6);
  }

  void add(Window& window, const std::string& name) {
    std::vector<std::string> texts;
    for (bert::Input& text : window.texts) texts.push_back(std::move(text.first));
    try {
      corpus_.add(texts);
    } catch (const bert::Error&) {
      add_one_by_one(texts, window.sources, name);  // to name the line
    }
    for (std::string& text : texts) {
      bytes_ += std::ssize(text);
      texts_.push_back(std::move(text));
    }
  }

  void add_one_by_one(const std::vector<std::string>& texts, const std::vector<Source>& sources,
                      const std::string& name) {
    for (size_t i = 0; i < texts.size(); ++i) {
      try {
        corpus_.add({&texts[i], 1});
      } catch (const bert::Error& error) {
        throw std::runtime_error(line_error(name, sources[i].line, reason_alone(error.what())));
      }
    }
  }

  bert::Corpus corpus_;
  std::vector<std::string> texts_;  // of the corpus; none if it is vectors
  int64_t bytes_ = 0;               // of these
  const int64_t most_;
  const bool has_headings_;  // for people: a query stands above its matches
  std::vector<std::string> queries_;
  std::vector<bert::Matches> found_;
};

}  // namespace

std::unique_ptr<Answers> make_search_answers(const InferOptions& options,
                                             const LoadedModel& loaded) {
  return std::make_unique<SearchAnswers>(options, loaded);
}

}  // namespace bert::tools
