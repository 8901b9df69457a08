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
// words instead of four. The tile is shorter, as it keeps a word of weights in registers; the other
// one is read where it is multiplied.
struct PairedBytes : Bytes {
  static constexpr int kTileRows = 4;
  static Sum dot_pair(Sum sum, In x0, In x1, In w0, const Word32* w1,
                      [[maybe_unused]] IntVec ones) {
#if defined(__AVX2__)
    IntVec pairs, more;
    asm("vpmaddubsw %[w0], %[x0], %[pairs]\n\t"
        "vpmaddubsw %[w1], %[x1], %[more]\n\t"
        "vpaddw %[more], %[pairs], %[pairs]\n\t"
        "vpmaddwd %[ones], %[pairs], %[pairs]\n\t"
        "vpaddd %[pairs], %[sum], %[sum]"
        : [sum] "+v"(sum), [pairs] "=&v"(pairs), [more] "=&v"(more)
        : [x0] "v"(x0), [x1] "v"(x1), [w0] "v"(w0), [w1] "m"(*reinterpret_cast<const IntVec*>(w1)),
          [ones] "v"(ones));
    return sum;
#else
    return dot(dot(sum, x0, w0), x1, load_bits(w1));
#endif
  }
};

template <>
inline Vec gelu<PairedBytes>(Vec x) {
  return gelu<Bytes>(x);
}

// Like add_rows(), but two words of a row at a time, and nothing beside: even a test between the
// multiplications takes time.
template <int Rows, int R>
[[gnu::always_inline]] inline void add_row_pairs(const Word32* x, int64_t stride,
                                                 const Word32* panel, IntVec (&sum)[R][kVectors]) {
  // GCC would keep the distance of each word from x, in memory for want of registers.
  const Word32* rows[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    rows[r] = x + r * stride;
    asm("" : "+r"(rows[r]));
  }
  const IntVec ones = IntVec{} + 0x10001;  // in shorts
#pragma GCC unroll 8
  for (int i = 0; i < Rows; i += 2) {
    IntVec first[kVectors];
    const Word32* const second = panel + (i + 1) * kPanel;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) first[v] = load_bits(panel + i * kPanel + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const IntVec x0 = broadcast_bits(rows[r] + i), x1 = broadcast_bits(rows[r] + i + 1);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = PairedBytes::dot_pair(sum[r][v], x0, x1, first[v], second + v * W, ones);
      }
    }
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
