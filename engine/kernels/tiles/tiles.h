// SPDX-License-Identifier: Apache-2.0
//
// The matrix tiles of AMX, which multiply bytes and bf16 8 to 16 times as fast as vectors do. A
// tile has up to 16 rows of 16 words. As in vectors.h, each file has its own copy.
//
// Tiles 0 to 3 hold sums [32, 32], tiles 4 and 5 inputs [32, 16 words], and tiles 6 and 7 weights
// [16 words, 32]: for inputs that are rows of words, and weights laid out as in panels.
// Source: Intel's Instruction Set Extensions Programming Reference, chapter 3.
#pragma once

#include <type_traits>

#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

#if defined(__AMX_INT8__) || defined(__AMXINT8__)  // as Clang 14 spells it
#define HAS_TILES
constexpr bool kHasTiles = true;
#else
constexpr bool kHasTiles = false;
#endif

// sums = a [rows, k] b [k, columns], with k a multiple of 16, columns of 32, and b in panels of
// kPanel columns (the last may be narrower).
template <typename Kind>
void multiply_in_tiles(int64_t rows, int64_t columns, int64_t k, const Word32* a, int64_t a_stride,
                       const Word32* b, float* sums, int64_t stride);

#if defined(HAS_TILES)
constexpr int64_t kTileRows = 16, kTileWords = 16;
constexpr int64_t kStripRows = 2 * kTileRows, kStripColumns = 2 * kTileWords;

struct TileShape {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// Tests emulate tiles in memory: they define these two functions and the _tile_* intrinsics.
#if !defined(EMULATED_TILES)
inline void store_shape(TileShape& shape) {
  // GCC 12 does not know that tiles are loaded from memory: all inputs must be stored by now.
  asm volatile("sttilecfg %0" : "=m"(shape) : : "memory");
}
inline void load_shape(const TileShape& shape) { asm volatile("ldtilecfg %0" : : "m"(shape)); }
#endif

// Gives the tiles of sums and inputs `rows` rows, from 1 to kStripRows. The shape is never
// unloaded, as anyone who uses tiles loads a shape of their own.
inline void shape_tiles(int64_t rows) {
  TileShape wanted, current;
  const auto upper = static_cast<uint8_t>(rows < kTileRows ? rows : kTileRows);
  const auto lower = static_cast<uint8_t>(rows > kTileRows ? rows - kTileRows : kTileRows);
  wanted.rows[0] = wanted.rows[1] = wanted.rows[4] = upper;
  wanted.rows[2] = wanted.rows[3] = wanted.rows[5] = lower;
  store_shape(current);
  if (__builtin_memcmp(&current, &wanted, sizeof current) != 0) load_shape(wanted);
}

#define MULTIPLY_TILES(sums, inputs, weights)  \
  if constexpr (std::is_same_v<Kind, Bytes>) { \
    _tile_dpbusd(sums, inputs, weights);       \
  } else {                                     \
    _tile_dpbf16ps(sums, inputs, weights);     \
  }
// Adds the products of 16 words to the sums of up to 16 rows, or of up to 32 if Two. Strides are in
// bytes. A row may be the sum of Parts, part_words apart.
template <typename Kind, bool Two, int64_t Parts = 1>
[[gnu::always_inline]] inline void add_tiles(const Word32* x, int64_t x_stride, const Word32* w,
                                             int64_t w_stride, int64_t part_words = 0) {
  _tile_loadd(6, w, w_stride);
#pragma GCC unroll 3
  for (int64_t part = 0; part < Parts; ++part, x += part_words) {
    _tile_loadd(4, x, x_stride);
    MULTIPLY_TILES(0, 4, 6);
    if (part == 0) _tile_loadd(7, w + kTileWords, w_stride);
    MULTIPLY_TILES(1, 4, 7);
    if constexpr (Two) {
      _tile_loadd(5, reinterpret_cast<const char*>(x) + kTileRows * x_stride, x_stride);
      MULTIPLY_TILES(2, 5, 6);
      MULTIPLY_TILES(3, 5, 7);
    }
  }
}
#undef MULTIPLY_TILES

inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
// Loads and stores the sums, `stride` bytes from row to row.
template <bool Two>
inline void load_sums(const float* sums, int64_t stride) {
  _tile_loadd(0, sums, stride);
  _tile_loadd(1, sums + kTileWords, stride);
  if constexpr (Two) {
    const char* lower = reinterpret_cast<const char*>(sums) + kTileRows * stride;
    _tile_loadd(2, lower, stride);
    _tile_loadd(3, lower + kTileWords * sizeof(float), stride);
  }
}
template <bool Two>
inline void store_sums(float* sums, int64_t stride) {
  _tile_stored(0, sums, stride);
  _tile_stored(1, sums + kTileWords, stride);
  if constexpr (Two) {
    char* lower = reinterpret_cast<char*>(sums) + kTileRows * stride;
    _tile_stored(2, lower, stride);
    _tile_stored(3, lower + kTileWords * sizeof(float), stride);
  }
}

template <typename Kind>
void multiply_in_tiles(int64_t rows, int64_t columns, int64_t k, const Word32* a, int64_t a_stride,
                       const Word32* b, float* sums, int64_t stride) {
  constexpr int64_t kWord = sizeof(Word32);
  for (int64_t row = 0; row < rows; row += kStripRows) {
    const int64_t left = rows - row < kStripRows ? rows - row : kStripRows;
    shape_tiles(left);
    for (int64_t column = 0; column < columns; column += kStripColumns) {
      const int64_t panel = column / kPanel * kPanel;
      const int64_t width = columns - panel < kPanel ? columns - panel : kPanel;
      const Word32 *x = a + row * a_stride, *w = b + panel * k + (column - panel);
      const auto multiply = [&]<bool Two>() {
        clear_sums();
        for (int64_t i = 0; i < k; i += kTileWords) {
          add_tiles<Kind, Two>(x + i, a_stride * kWord, w + i * width, width * kWord);
        }
        store_sums<Two>(sums + row * stride + column, stride * kWord);
      };
      left > kTileRows ? multiply.template operator()<true>()
                       : multiply.template operator()<false>();
    }
  }
}
#endif

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
