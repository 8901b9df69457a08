// SPDX-License-Identifier: Apache-2.0
//
// The logits of the head that a whole input has, and the labels that they speak for.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/answers/numbers.h"

namespace bert::tools {
namespace {

class LogitsAnswers final : public SequenceAnswers {
 public:
  LogitsAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), info_(loaded.info), options_(options) {
    if (options_.ranks_labels() && info_.scores == bert::Scores::raw) {
      throw bert::Error(fmt::format(
          "{}: the head's scores are raw, expected probabilities for --top-k and --threshold",
          loaded.directory));
    }
  }

  void append_json(std::string& line, size_t i) const override {
    line += "\"logits\": ";
    append_array(line, row(i), append_finite);
    if (info_.scores == bert::Scores::raw) return;
    const bert::Label best = bert::best_label(row(i), info_);
    line += ", \"label\": ";
    append_quoted(line, best.name);
    line += ", \"probability\": ";
    append_number(line, best.probability);
    if (!options_.ranks_labels()) return;
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    for (const bert::Label& label : ranked(i)) {
      labels.push_back({{"label", label.name}, {"probability", json_number(label.probability)}});
    }
    line += ", ";
    append_members(line, {{"labels", labels}});
  }

  std::string text(size_t i) const override {
    const std::vector<float> scores = bert::probabilities(row(i), info_);
    std::string all;
    if (options_.ranks_labels()) {
      for (const bert::Label& label : ranked(i)) append_text(all, label.name, label.probability);
      return all.empty() ? "no label" : all;
    }
    for (size_t j = 0; j < scores.size(); ++j) append_text(all, info_.labels[j], scores[j]);
    if (info_.scores == bert::Scores::raw || scores.size() == 1) return all;
    const bert::Label best = bert::best_label(row(i), info_);
    return fmt::format("{} {:.4f}  [{}]", tokenizer::printable(best.name), best.probability, all);
  }

  std::span<const float> row(size_t i) const override {
    return logits_.row(static_cast<int64_t>(i));
  }

 private:
  void run() override { logits_ = model_.run(encodings_); }

  static void append_text(std::string& text, const std::string& label, float score) {
    text +=
        fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", tokenizer::printable(label), score);
  }

  // The most probable labels, the first of equals first.
  std::vector<bert::Label> ranked(size_t i) const {
    const std::vector<float> scores = bert::probabilities(row(i), info_);
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) { return scores[a] > scores[b]; });
    if (options_.is_given("--top-k")) {
      order.resize(std::min(order.size(), static_cast<size_t>(options_.top_k)));
    }
    std::vector<bert::Label> labels;
    for (const int j : order) {
      if (scores[j] < options_.threshold) break;
      labels.push_back({j, info_.labels[j], scores[j]});
    }
    return labels;
  }

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
