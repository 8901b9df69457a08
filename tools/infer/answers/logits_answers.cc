// SPDX-License-Identifier: Apache-2.0
//
// The logits of the head that a whole input has, and the label that they speak for.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/infer/answers/answers.h"
#include "tools/infer/answers/numbers.h"

namespace bert::tools {
namespace {

class LogitsAnswers final : public SequenceAnswers {
 public:
  explicit LogitsAnswers(const LoadedModel& loaded) : model_(*loaded.model), info_(loaded.info) {}

  void append_json(std::string& line, size_t i) const override {
    line += "\"logits\": ";
    append_array(line, row(i), append_finite);
    if (info_.scores == bert::Scores::raw) return;
    const bert::Label best = bert::best_label(row(i), info_);
    line += ", \"label\": " + quoted(best.name) + ", \"probability\": ";
    append_number(line, best.probability);
  }

  std::string text(size_t i) const override {
    const std::vector<float> scores = bert::probabilities(row(i), info_);
    std::string all;
    for (size_t j = 0; j < scores.size(); ++j) {
      all += fmt::format("{}{} {:.4f}", j > 0 ? ", " : "", info_.labels[j], scores[j]);
    }
    if (info_.scores == bert::Scores::raw || scores.size() == 1) return all;
    const bert::Label best = bert::best_label(row(i), info_);
    return fmt::format("{} {:.4f}  [{}]", best.name, best.probability, all);
  }

  std::span<const float> row(size_t i) const override {
    return logits_.row(static_cast<int64_t>(i));
  }

 private:
  void run() override { logits_ = model_.run(encodings_); }

  const bert::Model& model_;
  const bert::Info& info_;
  bert::Output logits_;
};

}  // namespace

std::unique_ptr<Answers> make_logits_answers(const LoadedModel& loaded) {
  if (loaded.task != Task::logits) return nullptr;
  return std::make_unique<LogitsAnswers>(loaded);
}

}  // namespace bert::tools
