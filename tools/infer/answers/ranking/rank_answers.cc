// SPDX-License-Identifier: Apache-2.0
//
// Documents by how well they answer a query: scored as they are read, written once all are.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "tokenizer/unicode/printable.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/ranking/ranking_answers.h"

namespace bert::tools {
namespace {

class RankAnswers final : public Answers {
 public:
  RankAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), query_(options.query) {
    bert::relevance(model_, query_, {});  // refuses a model that cannot
  }

  void compute(const Window& window, size_t first, size_t count) override {
    documents_.clear();
    for (size_t i = first; i < first + count; ++i) {
      documents_.push_back(window.texts[i].first);
      check_utf8(documents_.back());
    }
    found_ = bert::relevance(model_, query_, documents_);
  }

  Size size(size_t i) const override { return {found_[i].tokens, found_[i].truncated}; }

  void append_json(std::string& line, size_t i) const override {
    append_members(line, {{"score", json_number(found_[i].score)}, {"text", documents_[i]}});
  }

  std::string text(size_t i) const override {
    return fmt::format("{:8.4f}  {}", found_[i].score, tokenizer::printable(documents_[i]));
  }

  std::span<const float> row(size_t i) const override { return {&found_[i].score, 1}; }

 private:
  // The tokenizer would call it the second text, after the query.
  static void check_utf8(std::string_view text) {
    const size_t at = tokenizer::utf8::first_invalid(text);
    if (at == std::string_view::npos) return;
    throw bert::Error(fmt::format("the text is not valid UTF-8 at byte {}", at));
  }

  const bert::Model& model_;
  const std::string& query_;
  std::vector<std::string> documents_;
  std::vector<bert::Relevance> found_;
};

// An answer that waits for better ones, in the form in which it will be written.
struct KeptAnswer {
  int64_t index;
  float score;
  std::string kept, json, text;
  Answers::Size size;
};

bool comes_first(const KeptAnswer& a, const KeptAnswer& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

// Gives the kept answers to another writer.
class KeptAnswers final : public Answers {
 public:
  void compute(const Window&, size_t, size_t) override {}
  Size size(size_t i) const override { return kept[i].size; }
  void append_json(std::string& line, size_t i) const override { line += kept[i].json; }
  std::string text(size_t i) const override { return kept[i].text; }

  std::vector<KeptAnswer> kept;
};

// Keeps the answers, of which row() is a score, and writes the best of them once there are no more,
// the greatest score first. Errors are written at once.
class RankedWriter final : public AnswerWriter {
 public:
  RankedWriter(const InferOptions& options, OutputFile& file, std::unique_ptr<AnswerWriter> writer)
      : AnswerWriter(file),
        most_(options.is_given("--top-k") ? static_cast<size_t>(options.top_k) : SIZE_MAX),
        is_text_(options.output_format == OutputFormat::text),
        writer_(std::move(writer)) {}

  void write(const InputName& input, const Answers& answers, size_t i) override {
    KeptAnswer answer = {.index = input.index,
                         .score = answers.row(i)[0],
                         .kept = std::string(input.kept),
                         .json = {},
                         .text = is_text_ ? answers.text(i) : "",
                         .size = answers.size(i)};
    std::string json;
    answers.append_json(json, i);  // also where it is not written: it refuses NaN
    if (!is_text_) answer.json = std::move(json);
    std::vector<KeptAnswer>& kept = best_.kept;  // a heap with the worst first
    if (kept.size() == most_) {
      if (!comes_first(answer, kept.front())) return;
      std::ranges::pop_heap(kept, comes_first);
      kept.back() = std::move(answer);
    } else {
      kept.push_back(std::move(answer));
    }
    std::ranges::push_heap(kept, comes_first);
  }

  void write_error(const InputName& input, int64_t line, std::string_view reason) override {
    writer_->write_error(input, line, reason);
  }

  void finish() override {
    KeptAnswers best = std::exchange(best_, {});
    std::ranges::sort(best.kept, comes_first);
    for (size_t i = 0; i < best.kept.size(); ++i) {
      writer_->write({best.kept[i].index, best.kept[i].kept}, best, i);
    }
    writer_->finish();
  }

 private:
  const size_t most_;
  const bool is_text_;
  const std::unique_ptr<AnswerWriter> writer_;
  KeptAnswers best_;
};

}  // namespace

std::unique_ptr<Answers> make_rank_answers(const InferOptions& options, const LoadedModel& loaded) {
  return std::make_unique<RankAnswers>(options, loaded);
}

std::unique_ptr<AnswerWriter> make_task_writer(const InferOptions& options,
                                               const LoadedModel& loaded, OutputFile& file) {
  auto writer = make_writer(options, loaded, file);
  if (!traits(loaded.task).ranks) return writer;
  return std::make_unique<RankedWriter>(options, file, std::move(writer));
}

}  // namespace bert::tools
