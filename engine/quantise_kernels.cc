// SPDX-License-Identifier: Apache-2.0
#include "engine/vectors.h"

namespace bert::engine::ROW_KERNELS {
namespace {

inline IntVec bits(Vec v) { return (IntVec)v; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline float greatest_lane(Vec v) {
  float greatest = v[0];
  for (int i = 1; i < W; ++i) greatest = v[i] > greatest ? v[i] : greatest;
  return greatest;
}

// x + magic has x rounded to a whole number in its last bits, for |x| < 2^22.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
constexpr int32_t kMagicBits = 0x4B400000;
inline IntVec rounded(Vec x) { return bits(x + kMagic) - kMagicBits; }

// Vectors of a row, each value times its factor if there are any; `rest` of them in the last one,
// where the others are 0.
struct Row {
  const float *x, *factors;
  int64_t k;

  Vec at(int64_t i) const {
    if (k - i < W) {
      const Vec part = load_part(x + i, k - i, 0);
      return factors ? part * load_part(factors + i, k - i, 0) : part;
    }
    return factors ? load(x + i) * load(factors + i) : load(x + i);
  }
};

// The lowest bits of each lane, as elements of a unit. Writes past the end of the row up to a
// whole unit, and no further.
template <typename Element>
inline void store_narrow(IntVec lanes, int64_t n, Element* to) {
  typedef Element Narrow __attribute__((vector_size(W * sizeof(Element))));
  const Narrow narrow = __builtin_convertvector(lanes, Narrow);
  if (n >= W) {
    __builtin_memcpy(to, &narrow, sizeof narrow);
    return;
  }
  constexpr int64_t each = sizeof(Unit) / sizeof(Element);
  for (int64_t i = 0; i < round_up(n, each); ++i) to[i] = narrow[i];
}

}  // namespace

void round_bf16(const float* row, int64_t k, Unit* units) {
  auto* to = reinterpret_cast<uint16_t*>(units);
  for (int64_t i = 0; i < k; i += W) {
    const Vec x = Row{row, nullptr, k}.at(i);
    const IntVec even = (bits(x) >> 16) & 1;
    const IntVec upper = (bits(x) + 0x7FFF + even) >> 16;
    // Rounding must not make an infinity of a NaN, nor another number.
    store_narrow(x == x ? upper : (bits(x) >> 16) | 0x40, k - i, to + i);
  }
}

RowKernels::Quantised quantise_weights(const float* row, const float* factors, const float* mean,
                                       int64_t k, int8_t* q) {
  const Row values{row, factors, k};
  Vec most{};
  IntVec bad{};
  for (int64_t i = 0; i < k; i += W) {
    const Vec x = values.at(i);
    most = max(most, x < 0.0f ? -x : x);
    bad |= x - x != 0.0f;
  }
  for (int i = 0; i < W; ++i) {
    if (bad[i]) return {__builtin_nanf(""), 0};
  }
  const float scale = greatest_lane(most) / 127.0f;
  const float inverse = scale > 1e-30f ? 1.0f / scale : 0.0f;
  Vec excess{};
  for (int64_t i = 0; i < k; i += W) {
    const Vec x = values.at(i);
    const IntVec whole =
        rounded(min(max(x * inverse, broadcast(-127.0f)), broadcast(127.0f)));
    typedef int8_t Narrow __attribute__((vector_size(W)));
    const Narrow narrow = __builtin_convertvector(whole, Narrow);
    const int64_t n = k - i < W ? k - i : W;
    for (int64_t j = 0; j < n; ++j) q[i + j] = narrow[j];
    const Vec means = n < W ? load_part(mean + i, n, 0) : load(mean + i);
    excess += (__builtin_convertvector(whole, Vec) * scale - x) * means;
  }
  return {scale, sum_lanes(excess)};
}

void pack_int8(const int8_t* q, int64_t k, Unit* units) {
  auto* to = reinterpret_cast<Int8*>(units);
  for (int64_t i = 0; i < k; ++i) to[i] = q[i];
  for (int64_t i = k; i < round_up(k, kInt8); ++i) to[i] = 0;
}

RowScale quantise_inputs(const float* x, const float* factors, int64_t k, Unit* units) {
  const Row values{x, factors, k};
  Vec least{}, greatest{};
  IntVec bad{};
  for (int64_t i = 0; i < k; i += W) {
    const Vec v = values.at(i);
    least = min(least, v);
    greatest = max(greatest, v);
    bad |= v - v != 0.0f;
  }
  int32_t any = 0;
  for (int i = 0; i < W; ++i) any |= bad[i];
  const float low = -greatest_lane(-least), range = greatest_lane(greatest) - low;
  const float scale = any ? __builtin_nanf("") : range > 1e-30f ? range / 255.0f : 1.0f;
  const float inverse = range > 1e-30f && !any ? 255.0f / range : 0.0f;
  const auto zero = static_cast<int32_t>(-low * inverse + 0.5f);
  auto* to = reinterpret_cast<UInt8*>(units);
  for (int64_t i = 0; i < k; i += W) {
    const Vec q = values.at(i) * inverse + static_cast<float>(zero);
    store_narrow(rounded(min(max(q, Vec{}), broadcast(255.0f))), k - i, to + i);
  }
  return {scale, any ? 0 : zero};
}

}  // namespace bert::engine::ROW_KERNELS
