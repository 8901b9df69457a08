// SPDX-License-Identifier: Apache-2.0
//
// f32 with weights that are bf16, two of which share a word of the panel: it takes half the memory,
// and half the time to read. Sums have the bits that they have with weights in f32. As in
// vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Few rows widen the weights in registers, each time that they read them; for more rows, a panel is
// widened in memory.
constexpr int64_t kMaxHalvedRows = 24;

struct Halved : F32 {};
template <>
constexpr int kPair<Halved> = 4;

// The weights of the first or the second input of some words. A bf16 is the upper half of a float.
inline Vec widen(const Word32* words, bool second) {
  IntVec both;
  __builtin_memcpy(&both, words, sizeof both);
  return (Vec)(second ? both & (IntVec{} - 65536) : both << 16);
}
template <>
inline Vec load_row<Halved>(const Word32* b, int64_t b_stride, int i, int v) {
  return widen(b + i / 2 * b_stride + v * W, i % 2);
}

// The task with its panel in f32.
inline MatmulTask widen_panel(const MatmulTask& task) {
  for (int64_t i = 0; i < task.words / 2; ++i) {
#pragma GCC unroll 8
    for (int64_t j = 0; j < kPanel; j += W) {
      const Word32* const words = task.panel + i * kPanel + j;
      store(task.widened + 2 * i * kPanel + j, widen(words, false));
      store(task.widened + (2 * i + 1) * kPanel + j, widen(words, true));
    }
  }
  MatmulTask wide = task;
  wide.panel = as_words(task.widened);
  return wide;
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
