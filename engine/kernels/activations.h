// SPDX-License-Identifier: Apache-2.0
//
// Powers of two, and the activations that follow a product, on vectors. As in vectors.h, each file
// has its own copy.
#pragma once

#include "engine/kernels/look_up_tables.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

constexpr float kLog2E = 1.44269504f;

// 2^x for x from -126 to slightly above 0, within 2 units in the last place: with x = n + r, a
// minimax polynomial for 2^r (within 1.4e-8), and n added to the exponent. At -127 it is 0.
#if defined(__AVX512F__)
inline Vec exp2_negative(Vec x) { return exp2_by_table(x); }
#else
inline Vec exp2_negative(Vec x) {
  const Vec shifted = x + 12582912.0f;  // 1.5 * 2^23: n is in the last bits
  const Vec r = x - (shifted - 12582912.0f);
  Vec p = broadcast(0.00015326467f);
  p = p * r + 0.0013390806f;
  p = p * r + 0.009618506f;
  p = p * r + 0.0555036f;
  p = p * r + 0.24022648f;
  p = p * r + 0.6931472f;
  p = p * r + 1.0f;
  return (Vec)((IntVec)p + ((IntVec)shifted << 23));
}
#endif

inline Vec tanh(Vec x) {
  const Vec e = exp2_negative(max(broadcast(-126.0f), magnitude(x) * (-2 * kLog2E)));
  const Vec positive = (1.0f - e) / (1.0f + e);
  return x < 0.0f ? -positive : positive;
}

// x Phi(x) = max(0, x) - |x| Phi(-|x|), with |x| Phi(-|x|) within 4e-8.
#if defined(__AVX512F__)
template <typename Kind>
inline Vec gelu(Vec x) {
  return gelu_by_table(x);
}
#else
// The logarithm of Phi(-u) is nearly a parabola, so Phi(-u) is 2 to a polynomial in u, evaluated by
// Estrin's scheme, whose dependency chains are short. From u = 6.6 on, u Phi(-u) is below 2e-10.
template <typename Kind>
inline Vec gelu(Vec x) {
  const Vec u = min(magnitude(x), broadcast(6.6f)), u2 = u * u;
  const Vec p67 = u * 4.2671118e-06f - 1.2682427e-05f;
  const Vec p45 = u * -0.00057622907f + 0.0076716067f;
  const Vec p23 = u * -0.052949335f - 0.4590436f;
  const Vec p01 = u * -1.151127f - 1.0f;
  const Vec p = (p67 * u2 + p45) * (u2 * u2) + (p23 * u2 + p01);
  return max(Vec{}, x) - u * exp2_negative(p);
}
#endif

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
