// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of one instruction set share. They are compiled several times, with
// INSTRUCTION_SET naming the set, so they must not use function templates or inline functions of
// any other header: the linker could keep the copy compiled for another machine. Everything here
// has internal linkage, so each file has its own copy.
//
// Products and sums contract to fused multiply-adds wherever the machine has them, always over the
// same vectors in the same order. Tails are padded, not handled by separate code, to round alike.
#pragma once

#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "engine/kernels/kernel_table.h"

namespace bert::engine::INSTRUCTION_SET {

namespace {

#if defined(__AVX512F__)
constexpr int W = 16;                   // floats in a vector
constexpr int kRows = 6, kVectors = 4;  // accumulators of a tile; leaves registers for operands
#elif defined(__AVX2__)
constexpr int W = 8;
constexpr int kRows = 6, kVectors = 2;
#else
constexpr int W = 4;
constexpr int kRows = 4, kVectors = 2;
#endif
constexpr int64_t kPanel = kVectors * W;  // columns of a tile
constexpr int64_t kLine = 16;             // words in a cache line
typedef float Vec __attribute__((vector_size(W * sizeof(float))));
typedef int32_t IntVec __attribute__((vector_size(W * sizeof(int32_t))));

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline Vec load(const Word32* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline void store(Word32* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline Vec broadcast(float x) { return x - Vec{}; }
// The first n floats at p, and `fill` in the other lanes.
inline Vec load_part(const float* p, int64_t n, float fill) {
  float lanes[W];
  for (int i = 0; i < W; ++i) lanes[i] = i < n ? p[i] : fill;
  return load(lanes);
}
inline void store_part(float* p, int64_t n, Vec v) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
// If one operand is NaN, returns b. Intrinsics, as compilers turn the general form into two
// instructions; masked ones, as GCC 12 warns about the undefined operand of the others.
#if defined(__AVX512F__)
inline Vec max(Vec a, Vec b) { return (Vec)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b); }
inline Vec min(Vec a, Vec b) { return (Vec)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b); }
#elif defined(__AVX2__)
inline Vec max(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
inline Vec min(Vec a, Vec b) { return (Vec)_mm256_min_ps((__m256)a, (__m256)b); }
#else
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
#endif
// Prefetch a cache line to the first or second level. In assembly, so that each stays in its place:
// grouping those of neighbouring lines can halve the speed of reading memory (Granite Rapids).
#if defined(__SSE2__)
inline void prefetch_l1(const void* p) {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const float*>(p)));
}
inline void prefetch_l2(const void* p) {
  asm volatile("prefetcht1 %0" : : "m"(*static_cast<const float*>(p)));
}
#else
inline void prefetch_l1(const void* p) { __builtin_prefetch(p); }
inline void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }
#endif
inline Vec magnitude(Vec x) { return (Vec)((IntVec)x & 0x7fffffff); }
inline int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

template <int... I>
using Lanes = std::integer_sequence<int, I...>;
using AllLanes = std::make_integer_sequence<int, W>;
template <int... I>
inline Vec interleave_low(Vec a, Vec b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? W + I / 2 : I / 2)...);
}
template <int... I>
inline Vec interleave_high(Vec a, Vec b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? W + W / 2 + I / 2 : W / 2 + I / 2)...);
}

// The first n lanes of a, and the other lanes of b.
template <int... I>
inline Vec first_lanes(int64_t n, Vec a, Vec b, Lanes<I...>) {
  return IntVec{I...} < static_cast<int32_t>(n) ? a : b;
}
template <int By, int... I>
inline Vec exchange(Vec v, Lanes<I...>) {
  return __builtin_shufflevector(v, v, (I ^ By)...);
}
// Reduces all lanes by function(a, b) in log2 W halving steps.
template <int By = W / 2, typename Function>
inline float across_lanes(Vec v, const Function& function) {
  const Vec both = function(v, exchange<By>(v, AllLanes()));
  if constexpr (By == 1) {
    return both[0];
  } else {
    return across_lanes<By / 2>(both, function);
  }
}
inline float sum_lanes(Vec v) {
  return across_lanes(v, [](Vec a, Vec b) { return a + b; });
}
inline float greatest_lane(Vec v) { return across_lanes(v, max); }

// Transposes in place: log2 W perfect shuffles of the rows' halves.
inline void transpose(Vec (&block)[W]) {
  const AllLanes lanes;
  for (int round = 1; round < W; round *= 2) {
    Vec shuffled[W];
#pragma GCC unroll 16
    for (int i = 0; i < W / 2; ++i) {
      shuffled[2 * i] = interleave_low(block[i], block[i + W / 2], lanes);
      shuffled[2 * i + 1] = interleave_high(block[i], block[i + W / 2], lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) block[i] = shuffled[i];
  }
}

// sum + x y, rounded once where the machine can. Explicit, because whether a compiler contracts may
// depend on the surrounding code, which differs between tile heights.
inline Vec multiply_add(Vec sum, Vec x, Vec y) {
#if defined(__AVX512F__)
  // Left to itself, GCC picks forms that overwrite x or y, and moves tiles between registers.
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
  return sum;
#elif defined(__FMA__)
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
  return sum;
#else
  return sum + x * y;
#endif
}

// Products are summed in blocks of this many, and the blocks' sums are then added up: rounding
// errors grow with the number of consecutive additions.
constexpr int64_t kSumBlock = 128;

// How words are multiplied and summed; narrow/narrow_kinds.h has the other kinds. Sum: the
// accumulator; kBlock: words per block of a sum.
struct F32 {
  using In = Vec;
  using Sum = Vec;
  static constexpr int64_t kBlock = kSumBlock;
  static constexpr int kTileRows = kRows;
  static In broadcast(const Word32* p) {
    return INSTRUCTION_SET::broadcast(*reinterpret_cast<const float*>(p));  // it was written as one
  }
  static In load(const Word32* p) { return INSTRUCTION_SET::load(p); }
  static Sum dot(Sum sum, In x, In w) { return multiply_add(sum, x, w); }
  static constexpr int kFloatsPerWord = 1;
  static In from(const float* x) { return INSTRUCTION_SET::load(x); }  // W words of one row
  static In pair(const float* x, const float*) { return from(x); }     // W words of two rows
};

// kPair: how many inputs' weights two rows of b hold. load_row: vector v of input i's weights.
template <typename Kind>
constexpr int kPair = 2;
template <typename Kind>
inline typename Kind::In load_row(const Word32* b, int64_t b_stride, int i, int v) {
  return Kind::load(b + i * b_stride + v * W);
}

// Rows of b per iteration: unrolled, as loop instructions can share ports with multiplications.
constexpr int64_t kStep = W == 8 ? 8 : 4;

// sum += a[R, Rows] b[Rows, V * W] in registers. a: the addresses of N evenly spaced rows; rows lie
// a_stride apart, words AStep. Calls beside(row, half) at the start and in the middle of b's rows.
template <typename Kind, int Rows, int AStep = 1, int R, int V, int N, typename Beside>
[[gnu::always_inline]] inline void add_rows(const Word32* const (&a)[N], int64_t a_stride,
                                            const Word32* b, int64_t b_stride,
                                            typename Kind::Sum (&sum)[R][V], const Beside& beside) {
  constexpr int kRowsPerAddress = (R + N - 1) / N;
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
    typename Kind::In row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load_row<Kind>(b, b_stride, i, v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (r == 0 || r == R / 2) beside(i, r > 0);
      const typename Kind::In x =
          Kind::broadcast(a[r / kRowsPerAddress] + r % kRowsPerAddress * a_stride + i * AStep);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = Kind::dot(sum[r][v], x, row[v]);
    }
  }
}

constexpr auto nothing = [](int, bool) {};

// sum += a[R, k] b[k, V * W] in registers, k in words.
template <typename Kind, int R, int V>
[[gnu::always_inline]] inline void add_products(const Word32* a, int64_t a_stride, const Word32* b,
                                                int64_t k, typename Kind::Sum (&sum)[R][V]) {
  constexpr int64_t b_stride = V * W;
  int64_t i = 0;
  for (; i + kStep <= k; i += kStep) {
    add_rows<Kind, kStep>({a + i}, a_stride, b + i * b_stride, b_stride, sum, nothing);
  }
  for (; i < k; ++i) add_rows<Kind, 1>({a + i}, a_stride, b + i * b_stride, b_stride, sum, nothing);
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
