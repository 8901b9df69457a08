// SPDX-License-Identifier: Apache-2.0
//
// f32 with weights that are bf16 or f16, two of which share a word of the panel: it takes half the
// memory, and half the time to read. Sums have the bits that they have with weights in f32. As in
// vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Few rows widen bf16 in registers, each time that they read them; for more rows, and f16, a panel
// is widened in memory.
constexpr int64_t kMaxHalvedRows = 24;

struct Halved : F32 {};
template <>
constexpr int kPair<Halved> = 4;

// The weights of the first or the second input of some words. A bf16 is the upper half of a float.
inline Vec widen_bf16(const Word32* words, bool second) {
  IntVec both;
  __builtin_memcpy(&both, words, sizeof both);
  return (Vec)(second ? both & (IntVec{} - 65536) : both << 16);
}
template <>
inline Vec load_row<Halved>(const Word32* b, int64_t b_stride, int i, int v) {
  return widen_bf16(b + i / 2 * b_stride + v * W, i % 2);
}

// The same of f16, by engine/table.cc's arithmetic where there is no instruction for it.
inline Vec widen_f16(const Word32* words, bool second) {
  IntVec both;
  __builtin_memcpy(&both, words, sizeof both);
  const IntVec half = second ? both >> 16 : both;
#if defined(__AVX512F__)
  // Masked, though all are wanted: GCC 12 warns of the unmasked ones' undefined registers.
  return (Vec)_mm512_maskz_cvtph_ps(0xffff, _mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)half));
#else
  constexpr int32_t kExponent = 1 << 23;
  const IntVec sign = (half & 0x8000) << 16, bits = (half & 0x7fff) << 13;
  const IntVec subnormal = (IntVec)((Vec)(bits + 113 * kExponent) - 0x1p-14f);
  const IntVec is_normal = bits >= kExponent;  // -1 where it is
  return (Vec)(sign | (is_normal & (bits + 112 * kExponent)) | (~is_normal & subnormal));
#endif
}

// The task with its panel in f32.
template <Vec (*widen)(const Word32* words, bool second)>
MatmulTask widen_panel(const MatmulTask& task) {
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
