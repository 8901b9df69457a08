// SPDX-License-Identifier: Apache-2.0
//
// The table of one instruction set's kernels, and the yardstick for their speed (multiply_and_add).
#include "engine/kernels/kernel_table.h"

#include "engine/kernels/instruction_sets.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/tiles/tiles.h"
#include "engine/kernels/vectors.h"

#define NAME_TEXT(name) #name
#define NAME(name) NAME_TEXT(name)

namespace bert::engine::INSTRUCTION_SET {

// In the other kernel files.
void layer_norm(const float* x, const float* gamma, const float* beta, float epsilon,
                bool is_centred, int64_t rows, int64_t width, float* y);
void add3(const float* a, const float* b, const float* c, int64_t width, float* y);
void pack_panel(const Word32* const* rows, int64_t columns, int64_t words, int64_t panel_columns,
                Word32* panel);
void matmul_f32(const MatmulTask& task);
void matmul_bf16(const MatmulTask& task);
void matmul_int8(const MatmulTask& task);
void matmul_halved(const MatmulTask& task);
void interleave(const float* x, int64_t rows, int64_t k, Word32* strips);
#if defined(HAS_TILES)
void matmul_split(const MatmulTask& task);
void split_row(const float* row, int64_t k, Word32* words);
#endif
void finish(const MatmulTask& task, int64_t row, int64_t rows, float* sums, int64_t stride);
void finish_int8(const MatmulTask& task, int64_t row, int64_t rows, float* sums,
                 const float* exact_sums, int64_t stride);
void round_bf16(const float* row, int64_t k, Word32* words);
KernelTable::Quantised quantise_weights(const float* row, const float* factors, const float* mean,
                                        int64_t k, float most, int8_t* q);
RowScale quantise_inputs(const float* x, const float* factors, int64_t k, Int8Format format,
                         Word32* words);
int64_t attention_scratch(int64_t length, int64_t width);
void attention_f32(const AttentionTask& task, float* scratch);
void attention_bf16(const AttentionTask& task, float* scratch);

namespace {

constexpr KernelTable::Panels kPanels = {.columns = kPanel, .word_step = 1, .row_step = 2 * kRows};
constexpr KernelTable::Panels kStrips = {.columns = 32, .word_step = 16, .row_step = 32};
constexpr KernelTable::Panels kNarrowPanels = kHasTiles ? kStrips : kPanels;

#if defined(HAS_TILES)
// In f32 as matmul_split does it: six products for each.
int64_t multiply_and_add(Precision precision, int64_t rounds, float*) {
  const Word32 zeros[kTileRows * kTileWords] = {};
  shape_tiles(kStripRows);
  clear_sums();
  _tile_loadd(4, zeros, kTileWords * sizeof(Word32));
  _tile_loadd(6, zeros, kTileWords * sizeof(Word32));
  for (int64_t i = 0; i < rounds; ++i) {
    if (precision == Precision::int8) {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 6);
      _tile_dpbusd(2, 4, 6);
      _tile_dpbusd(3, 4, 6);
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 6);
      _tile_dpbf16ps(2, 4, 6);
      _tile_dpbf16ps(3, 4, 6);
    }
  }
  const int64_t words = rounds * 4 * kTileRows * kTileRows * kTileWords;
  return words * 2 * (precision == Precision::int8 ? 4 : 2) / (precision == Precision::f32 ? 6 : 1);
}
#else
int64_t multiply_and_add(Precision precision, int64_t rounds, float* sums) {
  if (precision != Precision::f32) return 0;
  constexpr int kChains = 12;  // enough to keep two units with a latency of five cycles busy
  Vec chains[kChains];
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) chains[c] = broadcast(sums[c]);
  const Vec x = broadcast(sums[kChains]), y = broadcast(sums[kChains + 1]);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) chains[c] = multiply_add(chains[c], x, y);
  }
  for (int c = 0; c < kChains; ++c) sums[c] = sum_lanes(chains[c]);
  return rounds * kChains * W * 2;
}
#endif

}  // namespace

extern constinit const KernelTable kernels = {
    .name = NAME(INSTRUCTION_SET),
    .sets = kCompiledSets,
    .layer_norm = layer_norm,
    .add3 = add3,
    .pack_panel = pack_panel,
    .panels = kPanels,
    .narrow_panels = kNarrowPanels,
    .matmul_f32 = matmul_f32,
    .matmul_bf16 = matmul_bf16,
    .matmul_int8 = matmul_int8,
#if defined(HAS_TILES)
    .split_panels = {.columns = 32, .word_step = 32, .row_step = 32},
    .matmul_split = matmul_split,
    .split_row = split_row,
#endif
    .interleaved_rows = W == 8 ? kRows : 0,
    .interleave = W == 8 ? interleave : nullptr,
    .matmul_halved = matmul_halved,
    .finish = finish,
    .finish_int8 = finish_int8,
    .round_bf16 = round_bf16,
    .quantise_weights = quantise_weights,
    .int8 = kInt8,
    .quantise_inputs = quantise_inputs,
    .multiply_and_add = multiply_and_add,
    .attention_scratch = attention_scratch,
    .attention_f32 = attention_f32,
    .attention_bf16 = attention_bf16,
};

}  // namespace bert::engine::INSTRUCTION_SET
