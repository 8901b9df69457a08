// SPDX-License-Identifier: Apache-2.0
//
// Powers of two and GELU by tables of sixteen floats, where a vector holds such a table. As in
// vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/vectors.h"

#if defined(__AVX512F__)
namespace bert::engine::INSTRUCTION_SET {
namespace {

// table[W] at the last four bits of each lane of i.
inline Vec look_up(const float* table, Vec i) {
  return (Vec)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)i, (__m512)load(table));
}

// exp2_negative with n a multiple of 1/16. The table holds the bits of 2^(i / 16), for i from 0 to
// 7 and from -8 to -1, minus i << 19, which n << 19 adds back. That takes fewer multiplications
// than a polynomial for |r| <= 1/2.
alignas(64) constexpr int32_t kRoots[W] = {
    1065353216, 1065200323, 1065063874, 1064944595, 1064843248, 1064760626, 1064697559, 1064654911,
    1064633587, 1064634532, 1064658730, 1064707212, 1064781053, 1064881375, 1065009351, 1065166205};
inline Vec exp2_by_table(Vec x) {
  const Vec shifted = x + 786432.0f;  // 1.5 * 2^19: n is in the last bits
  const Vec r = x - (shifted - 786432.0f);
  const Vec root = look_up(reinterpret_cast<const float*>(kRoots), shifted);
  const Vec power = (Vec)((IntVec)root + ((IntVec)shifted << 19));
  Vec p = r * 0.055506062f + 0.2402359f;
  p = p * r + 0.69314718f;
  return power * r * p + power;
}

// Phi(-u) around each multiple of 1/2: the coefficients of r^0 to r^5 for |r| <= 1/4, fitted so
// that u Phi(-u) is within 2.2e-8. A table takes fewer multiplications than a single polynomial.
alignas(64) constexpr float kTail[6][W] = {
    {0.5f, 0.308537543f, 0.158655271f, 0.0668071955f, 0.0227501225f, 0.00620966125f, 0.00134989887f,
     0.000232630438f, 3.16718724e-05f, 3.39784538e-06f, 2.86683076e-07f, 1.89936475e-08f,
     9.8697317e-10f, 4.01869232e-11f, 1.28121775e-12f, 3.19641977e-14f},
    {-0.398942232f, -0.352065086f, -0.241970688f, -0.12951763f, -0.0539909862f, -0.0175282974f,
     -0.00443184329f, -0.000872681674f, -0.000133830603f, -1.59839947e-05f, -1.48678907e-06f,
     -1.07709276e-07f, -6.07721518e-09f, -2.67063899e-10f, -9.14113056e-12f, -2.4371309e-13f},
    {0.0f, 0.0880102962f, 0.12098103f, 0.0971395746f, 0.0539938919f, 0.0219115075f, 0.00664754165f,
     0.0015268008f, 0.000267478375f, 3.59139121e-05f, 3.70775024e-06f, 2.94996852e-07f,
     1.81172517e-08f, 8.59909643e-10f, 3.15702881e-11f, 8.97108993e-13f},
    {0.0664852858f, 0.0439913236f, -1.40261693e-06f, -0.0269792415f, -0.0269943792f, -0.0153379664f,
     -0.00590960821f, -0.00163630897f, -0.00033450831f, -5.12482766e-05f, -5.93866571e-06f,
     -5.23708366e-07f, -3.52962886e-08f, -1.8236489e-09f, -7.23957769e-11f, -2.21201399e-12f},
    {0.0f, -0.0198954102f, -0.0199772324f, -0.0061310702f, 0.00437373808f, 0.00588577008f,
     0.00333392853f, 0.00119406055f, 0.0002977275f, 5.38027052e-05f, 7.19801801e-06f,
     7.22129357e-07f, 5.47861099e-08f, 3.16178639e-09f, 1.39399825e-10f, 4.71045425e-12f},
    {-0.00983229559f, -0.00434116414f, 0.004001074f, 0.00578615116f, 0.00224304199f,
     -0.000640274666f, -0.00109627657f, -0.000579614833f, -0.000184318473f, -3.98934935e-05f,
     -6.17093701e-06f, -6.99665804e-07f, -5.9032029e-08f, -3.74323816e-09f, -1.79628271e-10f,
     -6.55638347e-12f},
};
inline Vec gelu_by_table(Vec x) {
  const Vec u = min(magnitude(x), broadcast(7.5f));
  const Vec shifted = u + 6291456.0f;  // 1.5 * 2^22: halves are in the last bits
  const Vec r = u - (shifted - 6291456.0f);
  Vec p = look_up(kTail[5], shifted);
#pragma GCC unroll 8
  for (int i = 4; i >= 0; --i) p = p * r + look_up(kTail[i], shifted);
  return max(Vec{}, x) - u * p;
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
#endif
