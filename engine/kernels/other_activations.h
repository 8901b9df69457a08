// SPDX-License-Identifier: Apache-2.0
//
// Activations of BERT's relatives. As in vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/activations.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

inline Vec gelu_tanh(Vec x) {
  const Vec inner = (x * x * x * 0.044715f + x) * 0.797884561f;  // sqrt(2 / pi)
  return x * 0.5f * (tanh(inner) + 1.0f);
}

// 1 / (1 + e^-x). Uses e^-|x|, which cannot overflow: for x < 0, e^x / (1 + e^x).
inline Vec sigmoid(Vec x) {
  const Vec e = exp2_negative(max(broadcast(-126.0f), magnitude(x) * -kLog2E));
  return (x < 0.0f ? e : broadcast(1.0f)) / (1.0f + e);
}

inline Vec silu(Vec x) { return max(broadcast(-100.0f), x) * sigmoid(x); }

inline Vec quick_gelu(Vec x) { return max(broadcast(-100.0f), x) * sigmoid(x * 1.702f); }

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
