// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/tensor.h"

namespace bert::models {

// The states of a batch's words and labels. Those of sequence i are rows [word_starts[i],
// word_starts[i + 1]) and [label_starts[i], label_starts[i + 1]).
struct EntityStates {
  engine::ConstTensor words, labels;  // [W, D] and [C, D]
  std::span<const int32_t> word_starts, label_starts;

  int64_t sequences() const { return std::ssize(word_starts) - 1; }
  int64_t words_of(int64_t i) const { return word_starts[i + 1] - word_starts[i]; }
  int64_t labels_of(int64_t i) const { return label_starts[i + 1] - label_starts[i]; }
};
// Is called with the logits of each sequence.
using TakeScores = std::function<void(int64_t sequence, engine::ConstTensor logits)>;

// How many times as wide as their input the heads' hidden layers are.
inline constexpr int64_t kHiddenFactor = 4;

}  // namespace bert::models
