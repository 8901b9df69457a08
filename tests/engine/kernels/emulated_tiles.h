// SPDX-License-Identifier: Apache-2.0
//
// AMX's tiles emulated in memory. Included before the kernels' sources, so that machines without
// tiles can test them, and sanitizers see what they read and write.
// Source: Intel's Instruction Set Extensions Programming Reference, chapter 3.
#pragma once

#define EMULATED_TILES

#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace bert::engine::INSTRUCTION_SET {
namespace {

struct Tiles {
  char shape[64] = {};
  int32_t words[8][16][16];
  int rows(int t) const { return shape[48 + t]; }
};
inline thread_local Tiles emulated;

template <typename Shape>
void store_shape(Shape& shape) {
  std::memcpy(&shape, emulated.shape, sizeof emulated.shape);
}
// Loading a shape clears all tiles.
template <typename Shape>
void load_shape(const Shape& shape) {
  static_assert(sizeof shape == sizeof emulated.shape);
  std::memcpy(emulated.shape, &shape, sizeof emulated.shape);
  std::memset(emulated.words, 0, sizeof emulated.words);
}

inline void zero_tile(int t) { std::memset(emulated.words[t], 0, sizeof emulated.words[t]); }
inline void load_tile(int t, const void* from, int64_t stride) {
  zero_tile(t);
  for (int r = 0; r < emulated.rows(t); ++r) {
    std::memcpy(emulated.words[t][r], static_cast<const char*>(from) + r * stride, 64);
  }
}
inline void store_tile(int t, void* to, int64_t stride) {
  for (int r = 0; r < emulated.rows(t); ++r) {
    std::memcpy(static_cast<char*>(to) + r * stride, emulated.words[t][r], 64);
  }
}

// sums += a b, where words hold four bytes.
inline void multiply_bytes(int sums, int a, int b) {
  for (int r = 0; r < emulated.rows(sums); ++r) {
    __m512i sum = _mm512_loadu_si512(emulated.words[sums][r]);
    for (int k = 0; k < emulated.rows(b); ++k) {
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(emulated.words[a][r][k]),
                                _mm512_loadu_si512(emulated.words[b][k]));
    }
    _mm512_storeu_si512(emulated.words[sums][r], sum);
  }
}
// Where they hold two bf16: a tile's even and odd products have sums of their own at first.
inline void multiply_bf16(int sums, int a, int b) {
  typedef uint32_t Words __attribute__((vector_size(64)));
  const auto lower = [](__m512i v) { return (__m512)((Words)v << 16); };
  const auto upper = [](__m512i v) { return (__m512)((Words)v & 0xffff0000u); };
  for (int r = 0; r < emulated.rows(sums); ++r) {
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    for (int k = 0; k < emulated.rows(b); ++k) {
      const __m512i x = _mm512_set1_epi32(emulated.words[a][r][k]);
      const __m512i w = _mm512_loadu_si512(emulated.words[b][k]);
      even = _mm512_fmadd_ps(lower(x), lower(w), even);
      odd = _mm512_fmadd_ps(upper(x), upper(w), odd);
    }
    float* const row = reinterpret_cast<float*>(emulated.words[sums][r]);
    _mm512_storeu_ps(row, _mm512_add_ps(_mm512_loadu_ps(row), _mm512_add_ps(even, odd)));
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbf16ps
#define _tile_zero(tile) zero_tile(tile)
#define _tile_loadd(tile, from, stride) load_tile(tile, from, stride)
#define _tile_stored(tile, to, stride) store_tile(tile, to, stride)
#define _tile_dpbusd(sums, a, b) multiply_bytes(sums, a, b)
#define _tile_dpbf16ps(sums, a, b) multiply_bf16(sums, a, b)
