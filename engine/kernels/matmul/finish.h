// SPDX-License-Identifier: Apache-2.0
//
// What happens to a tile's sums: those of its blocks are added up, then the bias is added, and then
// comes the activation or the residual. As in vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/activations.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/other_activations.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

inline void prefetch_outputs(const MatmulTask& task, int64_t first, int64_t rows) {
  for (int64_t r = first; r < first + rows; ++r) {
    for (int64_t j = 0; j < task.columns; j += kLine) prefetch_l1(task.y + r * task.y_stride + j);
  }
}

// Sums of floats need no dequantising; narrow_kinds.h has the overload for bytes.
inline Vec dequantise(const MatmulTask&, int64_t, int64_t, Vec sum) { return sum; }

// Adds the sums of the words from begin to end to sums [R, V * W], rows kPanel apart: R rows from
// `first` on and V vectors of columns from `column` on. int8 sums are integers until complete.
template <typename Sum, int R, int V>
[[gnu::always_inline]] inline void accumulate(const MatmulTask& task, int64_t first, int64_t column,
                                              int64_t begin, int64_t end, Sum (&sum)[R][V],
                                              float* sums) {
  const bool has_sums = begin > 0, complete = end == task.words;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      float* to = sums + r * kPanel + v * W;
      const Sum all = has_sums ? (Sum)load(to) + sum[r][v] : sum[r][v];
      store(to, complete ? dequantise(task, first + r, column + v * W, all) : (Vec)all);
    }
  }
  // Sums that a compiler kept in registers for short tiles alone could be fused with the next
  // addition, and a row's bits would depend on its tile's height.
  asm volatile("" : : "r"(sums) : "memory");
}

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

// Not inlined into the many tile functions.
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
    case Activation::quick_gelu:
      return with([](Vec v, const float*) { return quick_gelu(v); });
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
