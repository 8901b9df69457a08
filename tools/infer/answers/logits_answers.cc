// SPDX-License-Identifier: Apache-2.0
//
// The logits of the head that a whole input has, and the labels that they speak for. Before them,
// what all answers to one sequence each have in common.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/answers/ranked_labels.h"

namespace bert::tools {

void SequenceAnswers::compute(const Window& window, size_t first, size_t count) {
  encodings_ = std::span(window.encodings).subspan(first, count);
  strings_ = std::span(window.strings).subspan(std::min(first, window.strings.size()));
  run();
}

Answers::Size SequenceAnswers::size(size_t i) const {
  return {.tokens = std::ssize(encodings_[i].ids), .truncated = encodings_[i].truncated};
}

namespace {

class LogitsAnswers final : public SequenceAnswers {
 public:
  LogitsAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), info_(loaded.info), options_(options) {}

  void append_json(std::string& line, size_t i) const override {
    line += "\"logits\": ";
    append_array(line, row(i), append_finite);
    if (info_.scores == bert::Scores::raw) return;
    const bert::Label best = bert::best_label(row(i), info_);
    line += ", \"label\": ";
    append_quoted(line, best.name);
    line += ", \"probability\": ";
    append_number(line, best.probability);
    if (options_.ranks_labels()) append_ranked(line, row(i), info_, options_);
  }

  std::string text(size_t i) const override {
    if (options_.ranks_labels()) return ranked_text(row(i), info_, options_);
    const std::vector<float> scores = bert::probabilities(row(i), info_);
    std::string all;
    for (size_t j = 0; j < scores.size(); ++j) append_score(all, info_.labels[j], scores[j]);
    if (info_.scores == bert::Scores::raw || scores.size() == 1) return all;
    const bert::Label best = bert::best_label(row(i), info_);
    return fmt::format("{} {:.4f}  [{}]", tokenizer::printable(best.name), best.probability, all);
  }

  std::span<const float> row(size_t i) const override {
    return logits_.row(static_cast<int64_t>(i));
  }

 private:
  void run() override { logits_ = model_.run(encodings_); }

  const bert::Model& model_;
  const bert::Info& info_;
  const InferOptions& options_;
  bert::Output logits_;
};

}  // namespace

std::unique_ptr<Answers> make_logits_answers(const InferOptions& options,
                                             const LoadedModel& loaded) {
  if (loaded.task != Task::logits) return nullptr;
  return std::make_unique<LogitsAnswers>(options, loaded);
}

}  // namespace bert::tools
