// SPDX-License-Identifier: Apache-2.0
//
// The epilogue of a product: bias, and activation or residual. As in vectors.h, each file has its
// own copy.
#pragma once

#include "engine/kernels/activations.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// y[r] = function(sums[r] + bias, y[r]). sums: [rows, columns], `stride` from row to row.
template <typename Function>
inline void finish_with(Function function, const MatmulTask& task, int64_t rows, const float* sums,
                        int64_t stride, float* y) {
  const int64_t whole = task.columns / W, rest = task.columns % W;
  for (int64_t r = 0; r < rows; ++r, sums += stride, y += task.y_stride) {
    if (whole == kVectors && rest == 0) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t j = v * W;
        store(y + j, function(load(sums + j) + load(task.bias + j), y + j));
      }
      continue;
    }
    for (int64_t j = 0; j < whole * W; j += W) {
      store(y + j, function(load(sums + j) + load(task.bias + j), y + j));
    }
    if (rest > 0) {
      const int64_t j = whole * W;
      float before[W] = {};
      store_part(before, rest, load_part(y + j, rest, 0));
      store_part(y + j, rest, function(load(sums + j) + load_part(task.bias + j, rest, 0), before));
    }
  }
}

// Not inlined into the tiles' functions, of which there are many.
template <typename Kind>
[[gnu::noinline]] void finish_rows(const MatmulTask& task, int64_t rows, const float* sums,
                                   int64_t stride, float* y) {
  const auto with = [&](const auto& function) {
    finish_with(function, task, rows, sums, stride, y);
  };
  if (task.add) return with([](Vec v, const float* at) { return load(at) + v; });
  if (task.multiply) return with([](Vec v, const float* at) { return load(at) * v; });
  switch (task.activation) {
    case Activation::none:
      return with([](Vec v, const float*) { return v; });
    case Activation::gelu:
      return with([](Vec v, const float*) { return gelu<Kind>(v); });
    case Activation::gelu_tanh:
      return with([](Vec v, const float*) { return gelu_tanh(v); });
    case Activation::relu:
      return with([](Vec v, const float*) { return max(Vec{}, v); });
    case Activation::tanh:
      return with([](Vec v, const float*) { return tanh(v); });
    case Activation::silu:
      return with([](Vec v, const float*) { return silu(v); });
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
