// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

inline IntVec bits(Vec v) { return (IntVec)v; }

// The last bits of x + kMagic are x rounded to an integer, for |x| < 2^22.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
constexpr int32_t kMagicBits = 0x4B400000;
inline IntVec rounded(Vec x) { return bits(x + kMagic) - kMagicBits; }

// Calls body(i, values, n) for each vector of a row, at element i, times the factors if any. The
// last one may have only n < W values, padded with zeros.
template <typename Body>
inline void for_vectors(const float* x, const float* factors, int64_t k, const Body& body) {
  const int64_t whole = k / W * W;
  if (factors) {
    for (int64_t i = 0; i < whole; i += W) body(i, load(x + i) * load(factors + i), W);
  } else {
    for (int64_t i = 0; i < whole; i += W) body(i, load(x + i), W);
  }
  if (const int64_t n = k - whole; n > 0) {
    const Vec part = load_part(x + whole, n, 0);
    body(whole, factors ? part * load_part(factors + whole, n, 0) : part, n);
  }
}

// The low bits of each lane. As bytes, lanes must be 0 to 255.
template <typename Narrow>
inline Narrow narrowed(IntVec lanes) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (sizeof(Narrow) == W) {  // GCC 12 would extract the lanes one by one
    const __m128i low = _mm256_castsi256_si128((__m256i)lanes);
    const __m128i shorts = _mm_packus_epi32(low, _mm256_extracti128_si256((__m256i)lanes, 1));
    const __m128i bytes = _mm_packus_epi16(shorts, shorts);
    Narrow narrow;
    __builtin_memcpy(&narrow, &bytes, sizeof narrow);
    return narrow;
  }
#endif
  return __builtin_convertvector(lanes, Narrow);
}

// Stores the low bits of each lane as an Element; if n < W, only up to the end of the last word.
template <typename Element>
inline void store_narrow(IntVec lanes, int64_t n, Element* to) {
  typedef Element Narrow __attribute__((vector_size(W * sizeof(Element))));
  const Narrow narrow = narrowed<Narrow>(lanes);
  constexpr int64_t kEach = sizeof(Word32) / sizeof(Element);
  __builtin_memcpy(to, &narrow, n == W ? sizeof narrow : round_up(n, kEach) * sizeof(Element));
}

inline bool any_lane(IntVec v) {
  int32_t any = 0;
  for (int i = 0; i < W; ++i) any |= v[i];
  return any != 0;
}

}  // namespace

void round_bf16(const float* row, int64_t k, Word32* words) {
  auto* to = reinterpret_cast<uint16_t*>(words);
  for_vectors(row, nullptr, k, [=](int64_t i, Vec x, int64_t n) {
    const IntVec even = (bits(x) >> 16) & 1;
    const IntVec upper = (bits(x) + 0x7FFF + even) >> 16;
    // A NaN stays a NaN: rounding it could carry into the exponent.
    store_narrow(x == x ? upper : (bits(x) >> 16) | 0x40, n, to + i);
  });
}

KernelTable::Quantised quantise_weights(const float* row, const float* factors, const float* mean,
                                        int64_t k, float most, int8_t* q) {
  Vec largest{};
  IntVec bad{};
  for_vectors(row, factors, k, [&](int64_t, Vec x, int64_t) {
    largest = max(largest, magnitude(x));
    bad |= x - x != 0.0f;
  });
  if (any_lane(bad)) return {.scale = __builtin_nanf(""), .mean_error = 0};
  const float scale = greatest_lane(largest) / most;
  const float inverse = scale > 1e-30f ? 1.0f / scale : 0.0f;
  Vec mean_error{};
  for_vectors(row, factors, k, [&](int64_t i, Vec x, int64_t n) {
    const IntVec whole = rounded(min(max(x * inverse, broadcast(-most)), broadcast(most)));
    typedef int8_t Narrow __attribute__((vector_size(W)));
    const Narrow narrow = __builtin_convertvector(whole, Narrow);
    __builtin_memcpy(q + i, &narrow, n);
    const Vec means = n < W ? load_part(mean + i, n, 0) : load(mean + i);
    mean_error += (__builtin_convertvector(whole, Vec) * scale - x) * means;
  });
  return {.scale = scale, .mean_error = sum_lanes(mean_error)};
}

RowScale quantise_inputs(const float* x, const float* factors, int64_t k, Int8Format format,
                         Word32* words) {
  Vec least{}, greatest{};
  IntVec bad{};
  for_vectors(x, factors, k, [&](int64_t, Vec v, int64_t) {
    least = min(v, least);
    greatest = max(v, greatest);
    bad |= v - v != 0.0f;
  });
  const bool any = any_lane(bad);
  const float low = -greatest_lane(-least), range = greatest_lane(greatest) - low;
  const auto most = static_cast<float>(format.max_input);
  const float scale = any ? __builtin_nanf("") : range > 1e-30f ? range / most : 1.0f;
  const float inverse = range > 1e-30f && !any ? most / range : 0.0f;
  const int32_t zero = any ? 0 : static_cast<int32_t>(-low * inverse + 0.5f);
  // Lanes past the end of the row get the zero point; their weights are 0.
  const auto store_as = [=]<typename Element>(Element* to) {
    for_vectors(x, factors, k, [=](int64_t i, Vec v, int64_t n) {
      const Vec q = v * inverse + static_cast<float>(zero);
      store_narrow(rounded(min(max(q, Vec{}), broadcast(most))), n, to + i);
    });
  };
  if (format.bytes == 1) {
    store_as(reinterpret_cast<uint8_t*>(words));
  } else {
    store_as(reinterpret_cast<uint16_t*>(words));
  }
  return {.scale = scale, .zero = zero};
}

}  // namespace bert::engine::INSTRUCTION_SET
