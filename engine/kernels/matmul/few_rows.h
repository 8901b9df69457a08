// SPDX-License-Identifier: Apache-2.0
//
// A panel times few rows, where there are 32 registers: see matmul_few. As in vectors.h, each file
// has its own copy.
#pragma once

#include "engine/kernels/matmul/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Few rows are multiplied in two tiles of half a panel and twice as many rows: 12 rows of kHalf
// vectors take as many accumulators as kRows rows of kVectors.
constexpr int kHalf = kVectors / 2;
constexpr int kMaxHalfTileRows = 12, kMinHalfTileRows = kMaxHalfTileRows / 2;
// From one row more than an ordinary tile has to two half tiles.
constexpr int kMinFewRows = kRows + 1, kMaxFewRows = 2 * kMaxHalfTileRows;
// How many panel rows ahead lines are prefetched into the first- and the second-level cache.
constexpr int64_t kRowsAheadL1 = 48, kRowsAheadL2 = 4 * kSumBlock;

// Half a tile: sums [R, kPanel / 2] of R rows from `first` on. With each row of the panel it
// prefetches Lines lines of half a panel from near_panel on to the first level, and as many from
// far_panel on to the second.
template <typename Kind, int R, int Lines>
void half_tile(const MatmulTask& task, int64_t first, int64_t column, int64_t begin, int64_t end,
               const Word32* near_panel, const Word32* far_panel, float* sums) {
  // The addresses of every third row: there are not enough registers for all, and addressing modes
  // reach the rows one or two strides further.
  constexpr int kAddresses = (R + 2) / 3;
  const Word32* x[kAddresses];
#pragma GCC unroll 8
  for (int j = 0; j < kAddresses; ++j) {
    x[j] = task.x + (first + 3 * j) * task.x_stride + begin;
  }
  const auto advance = [&](int64_t by) {
#pragma GCC unroll 8
    for (int j = 0; j < kAddresses; ++j) {
      x[j] += by;
      asm("" : "+r"(x[j]));  // or a compiler derives the other rows' addresses before the loop
    }
  };
  constexpr int kShared = kPair<Kind> / 2;
  const Word32* panel = task.panel + begin / kShared * kPanel + column;
  const int64_t stride = task.x_stride, k = end - begin;
  typename Kind::Sum sum[R][kHalf] = {};
  int64_t i = 0;
  const auto prefetch = [&](int row, bool half) {
    if (Lines == 1 && !half) return;  // by measurement: bf16 is 5 % faster than with the other half
    if (row % kShared != 0) return;
    const int64_t before = i / kShared * Lines;
    const int64_t line = row / kShared * Lines + (Lines == 2 && half);
    prefetch_l1(near_panel + (before / kHalf + line / kHalf) * kPanel + line % kHalf * kLine);
    prefetch_l2(far_panel + (before + line) * kLine);
  };
  for (; i + kStep <= k; i += kStep, advance(kStep)) {
    add_rows<Kind, kStep>(x, stride, panel + i / kShared * kPanel, kPanel, sum, prefetch);
  }
  for (; i < k; ++i, advance(1)) {
    add_rows<Kind, 1>(x, stride, panel + i * kPanel, kPanel, sum, nothing);
  }
  accumulate(task, first, column, begin, end, sum, sums);
}

// The half_tile for a number of rows.
using HalfTile = void (*)(const MatmulTask&, int64_t, int64_t, int64_t, int64_t, const Word32*,
                          const Word32*, float*);
template <typename Kind, int Lines, int... I>
HalfTile half_tile_of(int64_t rows, Lanes<I...>) {
  constexpr HalfTile kHalfTiles[] = {half_tile<Kind, kMinHalfTileRows + I, Lines>...};
  return kHalfTiles[rows - kMinHalfTileRows];
}
template <typename Kind, int Lines>
HalfTile half_tile_of(int64_t rows) {
  return half_tile_of<Kind, Lines>(
      rows, std::make_integer_sequence<int, kMaxHalfTileRows - kMinHalfTileRows + 1>());
}

// With few rows, the second-level cache would be as busy as the multipliers if each tile read the
// panel from it while the next panel passes through. So both tiles read a block of half the panel
// from the first level while the next block is fetched into it. A single tile prefetches only what
// it needs soon.
template <typename Kind>
void matmul_few(const MatmulTask& task) {
  const int64_t rows = task.rows, all = task.words + task.exact;
  const int64_t second = rows > kMaxHalfTileRows ? rows / 2 : 0, first = rows - second;
  // Words per block: a block of the sums, but at most kSumBlock where two tiles share it.
  const int64_t block = Kind::kBlock < kSumBlock || second == 0 ? Kind::kBlock : kSumBlock;
  alignas(64) float sums[kMaxFewRows * kPanel];
  // Row i of this panel followed by the next panel.
  const auto at = [&](int64_t i) {
    return i < all ? task.panel + 2 * i / kPair<Kind> * kPanel
                   : task.next + 2 * (i - all) / kPair<Kind> * kPanel;
  };
  const auto add = [&]<typename Of>(Of, int64_t begin, int64_t end) {
    const int64_t half = (end - begin) / kPair<Kind> * kPanel;
    const Word32* far_panel = at(begin + kRowsAheadL2);
    for (int64_t column = 0; column < kPanel; column += kHalf * W, far_panel += half) {
      if (second == 0) {
        half_tile_of<Of, 2>(first)(task, 0, column, begin, end, at(begin + kRowsAheadL1) + column,
                                   far_panel, sums + column);
        continue;
      }
      const Word32* near_panel = column == 0 ? at(begin) + kHalf * W : at(end);
      half_tile_of<Of, 1>(first)(task, 0, column, begin, end, near_panel, far_panel, sums + column);
      half_tile_of<Of, 1>(second)(task, first, column, begin, end, near_panel + half,
                                  far_panel + half / 2, sums + first * kPanel + column);
    }
  };
  // All at once: spread over the blocks' products, these few lines cost a quarter of the time.
  prefetch_outputs(task, 0, rows);
  for (int64_t begin = 0; begin < task.words; begin += block) {
    add(Kind(), begin, task.words - begin < block ? task.words : begin + block);
  }
  if (task.exact > 0) add(F32(), task.words, all);
  finish_rows<Kind>(task, rows, sums, kPanel, task.y);
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
