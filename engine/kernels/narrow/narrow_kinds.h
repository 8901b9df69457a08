// SPDX-License-Identifier: Apache-2.0
//
// Multiplies words that hold two bf16 or four bytes, and dequantises products of bytes. As in
// vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/activations.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

inline IntVec load_bits(const Word32* p) {
  IntVec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline IntVec broadcast_bits(const Word32* p) {
  int32_t x;
  __builtin_memcpy(&x, p, sizeof x);
  return x - IntVec{};
}

// Like F32 in vectors.h.
struct Bf16 {
  using In = IntVec;
  using Sum = Vec;
  static constexpr int64_t kBlock = kSumBlock / 2;
  static constexpr int kTileRows = kRows;
  static In broadcast(const Word32* p) { return broadcast_bits(p); }
  static In load(const Word32* p) { return load_bits(p); }
  static Sum dot(Sum sum, In x, In w) {
#if defined(__AVX512BF16__)
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)w);
#else  // a bf16 is the upper half of a float
    const IntVec upper = IntVec{} - 65536;
    return multiply_add(multiply_add(sum, (Vec)(x << 16), (Vec)(w << 16)), (Vec)(x & upper),
                        (Vec)(w & upper));
#endif
  }
#if defined(__AVX512BF16__)
  static constexpr int kFloatsPerWord = 2;
  static In from(const float* x) {
    return from(INSTRUCTION_SET::load(x), INSTRUCTION_SET::load(x + W));
  }
  static In from(Vec first, Vec second) {
    return (In)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
  }
  static In pair(const float* low, const float* high) { return widen(low) | widen(high) << 16; }

 private:
  static In widen(const float* x) {
    typedef uint16_t Narrow __attribute__((vector_size(W * sizeof(uint16_t))));
    return __builtin_convertvector((Narrow)_mm512_cvtneps_pbh((__m512)INSTRUCTION_SET::load(x)),
                                   In);
  }
#endif
};

// How matmul_int8 holds its inputs: as bytes where the machine multiplies them, otherwise as
// shorts. Without VNNI, sums of two products of bytes must fit into 16 bits.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr Int8Format kInt8 = {.bytes = 1, .max_input = 255};
#elif defined(__AVX2__)
constexpr Int8Format kInt8 = {.bytes = 1, .max_input = 127, .paired = true};
#else
constexpr Int8Format kInt8 = {.bytes = 2, .max_input = 255};
#endif

#if defined(__AVX2__)
struct Shorts {
  int16_t values[2 * W];
};
alignas(64) constexpr Shorts kOnes = [] {
  Shorts ones{};
  for (int16_t& one : ones.values) one = 1;
  return ones;
}();
#endif

struct Bytes {
  using In = IntVec;
  using Sum = IntVec;
  static constexpr int64_t kBlock = int64_t{1} << 40;  // one block: integer sums are exact
  static constexpr int kTileRows = kRows;
  static In broadcast(const Word32* p) { return broadcast_bits(p); }
  static In load(const Word32* p) { return load_bits(p); }
  static Sum dot(Sum sum, In x, In w) {
#if defined(__AVX512VNNI__)
    return (Sum)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
#elif defined(__AVXVNNI__)
    return (Sum)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
#elif defined(__AVX2__)
    // Left to itself, GCC multiplies far ahead of the additions and spills the products.
    IntVec pairs;
    asm("vpmaddubsw %[w], %[x], %[pairs]\n\t"
        "vpmaddwd %[ones], %[pairs], %[pairs]\n\t"
        "vpaddd %[pairs], %[sum], %[sum]"
        : [sum] "+v"(sum), [pairs] "=&v"(pairs)
        : [x] "v"(x), [w] "v"(w), [ones] "m"(kOnes));
    return sum;
#elif defined(__SSE2__)
    return sum + (Sum)_mm_madd_epi16((__m128i)x, (__m128i)w);
#else
    return sum + (x << 16 >> 16) * (w << 16 >> 16) + (x >> 16) * (w >> 16);
#endif
  }
};

// GELU within 1.6e-4 (beyond the clamp 2e-5 |x| more), enough for a result that is then rounded to
// eight bits: x / 2 + |x| p(|x|), where p approximates Phi - 1/2.
template <>
inline Vec gelu<Bytes>(Vec x) {
  const Vec u = magnitude(x), t = min(u, broadcast(3.9f));
  Vec p = broadcast(0.000686555461f);
  p = p * t - 0.0104904901f;
  p = p * t + 0.0604671277f;
  p = p * t - 0.147275239f;
  p = p * t + 0.0521836355f;
  p = p * t + 0.385195196f;
  p = p * t + 0.00067053223f;
  return x * 0.5f + u * p;
}

// Dequantises a sum of row `row` and columns `column` to `column` + W of the task.
inline Vec dequantise(const MatmulTask& task, int64_t row, int64_t column, IntVec sum) {
  const RowScale& scale = task.row_scales[row];
  IntVec column_sums;
  __builtin_memcpy(&column_sums, task.column_sums + column, sizeof column_sums);
  const Vec exact = __builtin_convertvector(sum - scale.zero * column_sums, Vec);
  return exact * (scale.scale * load(task.column_scales + column));
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
