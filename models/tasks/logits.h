// SPDX-License-Identifier: Apache-2.0
//
// What several tasks need to do with logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/heads.h"

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

// Runs the head on some rows of x [R, H] at a time, so that logits as long as the vocabulary take
// at most about 128 MB: calls body(first, logits), where `first` is the first of these rows.
template <typename Body>
void run_in_parts(const Head& head, engine::Team& team, engine::ConstTensor x, Workspace& space,
                  const Body& body) {
  constexpr int64_t kMostLogits = int64_t{1} << 25;
  const int64_t rows = std::max<int64_t>(1, kMostLogits / head.columns());
  for (int64_t first = 0; first < x.rows; first += rows) {
    body(first, head.run(team, {x.row(first), std::min(rows, x.rows - first), x.columns}, space));
  }
}

}  // namespace bert::models
