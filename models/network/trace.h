// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/tensor.h"

namespace bert::models {

// Called as the forward pass reaches each stage: "embeddings" [T, H], "layer.0" … [T, H], "pooler"
// [N, H], "logits" [N, C] (or [T, C] from a head that scores each token), "next_sentence" [N, 2]
// if the model has both heads, "embedding" [N, F]. The values are valid only during the call.
using OnStage =
    std::function<void(std::string_view stage, const float* values, int64_t rows, int64_t columns)>;

// What a caller wants to see from a forward pass.
struct Trace {
  OnStage on_stage = nullptr;
  // [L] or empty: layers whose attention probabilities are wanted. They are a separate stage,
  // "attention.0" …, before the layer's: [A, S, S] for each sequence, end to end.
  std::vector<bool> attention = {};

  bool wants_attention(size_t layer) const { return layer < attention.size() && attention[layer]; }
  void operator()(std::string_view stage, engine::ConstTensor x) const {
    if (on_stage) on_stage(stage, x.data, x.rows, x.columns);
  }
};

}  // namespace bert::models
