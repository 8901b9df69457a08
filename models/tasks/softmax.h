// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace bert::models {

// logits: at least one.
inline std::vector<float> softmax(std::span<const float> logits) {
  std::vector<float> result(logits.begin(), logits.end());
  const float max = *std::ranges::max_element(result);
  double sum = 0;
  for (float& value : result) sum += value = std::exp(value - max);
  for (float& value : result) value = static_cast<float>(value / sum);
  return result;
}

}  // namespace bert::models
