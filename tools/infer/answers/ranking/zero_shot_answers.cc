// SPDX-License-Identifier: Apache-2.0
//
// Labels that the model was not trained for.
#include <algorithm>
#include <string>
#include <vector>

#include "models/tasks/ranking/bert_ranking.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/ranked_labels.h"
#include "tools/infer/answers/ranking/ranking_answers.h"

namespace bert::tools {
namespace {

class ZeroShotAnswers final : public Answers {
 public:
  ZeroShotAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), options_(options) {
    bert::zero_shot(model_, {}, options_.labels, options_.zero_shot);  // refuses other models
  }

  void compute(const Window& window, size_t first, size_t count) override {
    std::vector<std::string> texts;
    for (size_t i = first; i < first + count; ++i) texts.push_back(window.texts[i].first);
    found_ = bert::zero_shot(model_, texts, options_.labels, options_.zero_shot);
  }

  Size size(size_t i) const override { return {found_[i].tokens, found_[i].truncated}; }

  void append_json(std::string& line, size_t i) const override {
    const auto best = static_cast<size_t>(found_[i].best[0]);
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    for (const size_t label : shown(i)) {
      labels.push_back({{"label", options_.labels[label]},
                        {"probability", json_number(found_[i].probabilities[label])}});
    }
    append_members(line, {{"label", options_.labels[best]},
                          {"probability", json_number(found_[i].probabilities[best])},
                          {"labels", labels}});
  }

  std::string text(size_t i) const override {
    std::string text;
    for (const size_t label : shown(i)) {
      append_score(text, options_.labels[label], found_[i].probabilities[label]);
    }
    return text.empty() ? "no label" : text;
  }

 private:
  // The labels that --top-k and --threshold leave, the most probable first.
  std::vector<size_t> shown(size_t i) const {
    std::vector<size_t> labels(found_[i].best.begin(), found_[i].best.end());
    if (options_.is_given("--top-k")) {
      labels.resize(std::min(labels.size(), static_cast<size_t>(options_.top_k)));
    }
    std::erase_if(
        labels, [&](size_t label) { return found_[i].probabilities[label] < options_.threshold; });
    return labels;
  }

  const bert::Model& model_;
  const InferOptions& options_;
  std::vector<bert::ZeroShot> found_;
};

}  // namespace

std::unique_ptr<Answers> make_ranking_answers(const InferOptions& options,
                                              const LoadedModel& loaded) {
  switch (loaded.task) {
    case Task::zero_shot:
      return std::make_unique<ZeroShotAnswers>(options, loaded);
    case Task::rank:
      return make_rank_answers(options, loaded);
    case Task::search:
      return make_search_answers(options, loaded);
    default:
      return nullptr;
  }
}

}  // namespace bert::tools
