// SPDX-License-Identifier: Apache-2.0
//
// AMX's tiles emulated in memory. Included before engine/kernels/tile_kernels.cc, so that machines
// without tiles can test it, and sanitizers see what it reads and writes. As in Intel's manual
// (Instruction Set Extensions Programming Reference, chapter 3).
#pragma once

#define EMULATED_TILES

#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace bert::engine::INSTRUCTION_SET {
namespace {

typedef uint32_t TileRow __attribute__((vector_size(64)));
typedef float TileSums __attribute__((vector_size(64)));
struct Tiles {
  char shape[64] = {};
  TileRow words[8][16];
  int rows(int t) const { return shape[48 + t]; }
};
thread_local Tiles emulated;

template <typename Shape>
void store_shape(Shape& shape) {
  std::memcpy(&shape, emulated.shape, sizeof emulated.shape);
}
template <typename Shape>
void load_shape(const Shape& shape) {
  static_assert(sizeof shape == sizeof emulated.shape);
  std::memcpy(emulated.shape, &shape, sizeof emulated.shape);
}

void zero_tile(int t) { std::memset(emulated.words[t], 0, sizeof emulated.words[t]); }
void load_tile(int t, const void* from, int64_t stride) {
  zero_tile(t);
  for (int r = 0; r < emulated.rows(t); ++r) {
    std::memcpy(&emulated.words[t][r], static_cast<const char*>(from) + r * stride, 64);
  }
}
void store_tile(int t, void* to, int64_t stride) {
  for (int r = 0; r < emulated.rows(t); ++r) {
    std::memcpy(static_cast<char*>(to) + r * stride, &emulated.words[t][r], 64);
  }
}

// sums += a b, where a word holds two bf16: even and odd inputs are summed separately.
void multiply_tiles(int sums, int a, int b) {
  for (int r = 0; r < emulated.rows(sums); ++r) {
    TileSums even = {}, odd = {};
    for (int k = 0; k < emulated.rows(b); ++k) {
      const TileRow x = emulated.words[a][r][k] - TileRow{}, w = emulated.words[b][k];
      even += (TileSums)(x << 16) * (TileSums)(w << 16);
      odd += (TileSums)(x & 0xffff0000) * (TileSums)(w & 0xffff0000);
    }
    emulated.words[sums][r] = (TileRow)((TileSums)emulated.words[sums][r] + (even + odd));
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_zero(tile) zero_tile(tile)
#define _tile_loadd(tile, from, stride) load_tile(tile, from, stride)
#define _tile_stream_loadd(tile, from, stride) load_tile(tile, from, stride)
#define _tile_stored(tile, to, stride) store_tile(tile, to, stride)
#define _tile_dpbf16ps(sums, a, b) multiply_tiles(sums, a, b)
