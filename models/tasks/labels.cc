// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "models/bert_infer.h"
#include "models/tasks/logits.h"

namespace bert {

std::vector<float> probabilities(std::span<const float> logits, const Info& info) {
  const engine::DefaultFloats floats;
  std::vector<float> result(logits.begin(), logits.end());
  if (info.scores == Scores::sigmoid) {
    for (float& value : result) value = 1.0f / (1.0f + std::exp(-value));
  } else if (info.scores == Scores::softmax && !result.empty()) {
    return models::softmax(logits);
  }
  return result;
}

Label best_label(std::span<const float> logits, const Info& info) {
  if (logits.empty() || logits.size() != info.labels.size()) {
    throw Error(
        fmt::format("{} logits, but the model has {} labels", logits.size(), info.labels.size()));
  }
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  const float probability = info.scores == Scores::raw ? NAN : probabilities(logits, info)[best];
  return {.index = static_cast<int>(best), .name = info.labels[best], .probability = probability};
}

}  // namespace bert
