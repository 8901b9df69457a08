// SPDX-License-Identifier: Apache-2.0
//
// Products of bytes without VNNI, added in 16 bits four at a time. As in vectors.h, each file has
// its own copy.
#pragma once

#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Two words at a time, if sums of four products fit into 16 bits: three multiplications for two
// words instead of four. The tile is shorter, as it keeps two words of weights in registers.
struct PairedBytes : Bytes {
  static constexpr int kTileRows = 4;
  static Sum dot_pair(Sum sum, In x0, In x1, In w0, In w1) {
#if defined(__AVX2__)
    IntVec pairs, more;
    asm("vpmaddubsw %[w0], %[x0], %[pairs]\n\t"
        "vpmaddubsw %[w1], %[x1], %[more]\n\t"
        "vpaddw %[more], %[pairs], %[pairs]\n\t"
        "vpmaddwd %[ones], %[pairs], %[pairs]\n\t"
        "vpaddd %[pairs], %[sum], %[sum]"
        : [sum] "+v"(sum), [pairs] "=&v"(pairs), [more] "=&v"(more)
        : [x0] "v"(x0), [x1] "v"(x1), [w0] "v"(w0), [w1] "v"(w1), [ones] "m"(kOnes));
    return sum;
#else
    return dot(dot(sum, x0, w0), x1, w1);
#endif
  }
};

template <>
inline Vec gelu<PairedBytes>(Vec x) {
  return gelu<Bytes>(x);
}

// Like add_rows(), but two words of a row at a time.
template <int Rows, int R, typename Beside>
[[gnu::always_inline]] inline void add_row_pairs(const Word32* x, int64_t stride,
                                                 const Word32* panel, IntVec (&sum)[R][kVectors],
                                                 const Beside& beside) {
#pragma GCC unroll 8
  for (int i = 0; i < Rows; i += 2) {
    IntVec first[kVectors], second[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      first[v] = load_bits(panel + i * kPanel + v * W);
      second[v] = load_bits(panel + (i + 1) * kPanel + v * W);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (r == 0 || r == R / 2) beside(i, r > 0);
      const IntVec x0 = broadcast_bits(x + r * stride + i),
                   x1 = broadcast_bits(x + r * stride + i + 1);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = PairedBytes::dot_pair(sum[r][v], x0, x1, first[v], second[v]);
      }
    }
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
