// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "models/bert_infer.h"

namespace bert::models {

// Called as the forward pass reaches each stage: "embeddings" [T, H], "layer.0" … [T, H], "pooler"
// [N, H], "logits" [N, C], "embedding" [N, H]. The values live only as long as the call.
using Trace =
    std::function<void(std::string_view stage, const float* values, int64_t rows, int64_t columns)>;

// One input through everything that the model has: the encoder, the pooler and the head if any, and
// the sentence embedding. For regression tests.
void run_traced(const Model& model, const Encoding& encoding, const Trace& trace);

}  // namespace bert::models
