// SPDX-License-Identifier: Apache-2.0
//
// f32 with inputs in strips [words, kRows], where a tile has 16 registers: it reads one stream
// instead of kRows. Rows that lie a multiple of 4 KiB apart share a set of the first-level cache,
// and advancing an address for each takes instructions. Sums have the bits that they have with
// separate rows. As in vectors.h, each file has its own copy.
#pragma once

#include "engine/kernels/matmul/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Computes a tile's sums [R, kPanel], of the rows from `first` on. Meanwhile prefetches Lines lines
// from `ahead` on for every kStep rows of the panel.
template <int R, int Lines>
void interleaved_tile(const MatmulTask& task, int64_t first, const Word32* ahead, float* sums) {
  const Word32 *x = task.x + first * task.x_stride, *panel = task.panel;
  const auto prefetch = [&](int row, bool half) {
    if (row < Lines && !half) prefetch_l2(ahead + row * kLine);
  };
  for (int64_t begin = 0; begin < task.words; begin += kSumBlock) {
    const int64_t end = task.words - begin < kSumBlock ? task.words : begin + kSumBlock;
    F32::Sum sum[R][kVectors] = {};
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) {
      add_rows<F32, kStep, kRows>({x}, 1, panel, kPanel, sum, prefetch);
      x += kStep * kRows, panel += kStep * kPanel, ahead += Lines * kLine;
    }
    for (; i < end; ++i, x += kRows, panel += kPanel) {
      add_rows<F32, 1, kRows>({x}, 1, panel, kPanel, sum, nothing);
    }
    accumulate(task, first, 0, begin, end, sum, sums);
  }
}

// Indexed by the number of rows, kRows at most.
template <int Lines>
constexpr void (*kInterleavedTiles[])(const MatmulTask&, int64_t, const Word32*, float*) = {
    nullptr,
    interleaved_tile<1, Lines>,
    interleaved_tile<2, Lines>,
    interleaved_tile<3, Lines>,
    interleaved_tile<4, Lines>,
    interleaved_tile<kRows - 1, Lines>,
    interleaved_tile<kRows, Lines>};

// The first tiles prefetch the next panel: of every kStep lines one each, or two if there are few
// tiles.
inline void matmul_interleaved(const MatmulTask& task) {
  const bool is_low = task.rows < kStep * kRows;
  const int64_t prefetching = is_low ? kStep / 2 : kStep;  // tiles
  const Word32* ahead = task.next;
  alignas(64) float sums[kRows * kPanel];
  for (int64_t t = 0; t * kRows < task.rows; ++t) {
    const int64_t first = t * kRows, left = task.rows - first, rows = left < kRows ? left : kRows;
    const auto& tiles = t >= prefetching ? kInterleavedTiles<0>
                        : is_low         ? kInterleavedTiles<2>
                                         : kInterleavedTiles<1>;
    prefetch_outputs(task, first, rows);
    tiles[rows](task, first, ahead, sums);
    finish_rows<F32>(task, rows, sums, kPanel, task.y + first * task.y_stride);
    ahead += task.words / prefetching * kLine;
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
