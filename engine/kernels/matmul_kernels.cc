// SPDX-License-Identifier: Apache-2.0
//
// One panel of a product, x [rows, words] times panel [words, kPanel]:
//
//   sum[r][c] = x[r] . panel[c]                   in blocks of Kind::kBlock words, then their sums
//   v[r][c] = sum[r][c]                                                             (f32, bf16)
//   v[r][c] = row_scale[r] column_scale[c] (sum[r][c] - zero[r] column_sum[c])
//             + the exact inputs' products in f32                                   (int8)
//   y[r][c] = activation(v[r][c] + bias[c]),  or  y[r][c] += v[r][c] + bias[c]
//
// in tiles of kRows rows whose sums stay in registers. While a tile is multiplied, the epilogue of
// the tile before is done, and what the next task reads is prefetched.
#include "engine/kernels/bytes.h"
#include "engine/kernels/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Lines prefetched for every two rows of the panel, by as many of the last tiles, so that memory
// can keep up: together a panel's worth, or two where a row of it is one line.
constexpr int64_t kPrefetchLines = kPanel > kLine ? 2 * kPanel / kLine : 2;
// Processors prefetch ahead of sequential reads by themselves, but not into the next page.
constexpr int64_t kPageBytes = 4096;
// By measurement, GELU overlaps with the next tile only where there are 32 registers: it needs four
// in addition to the tile's.
constexpr bool kOverlapGelu = W == 16;

// Few rows are multiplied in two tiles of half a panel and twice as many rows: with kHalf vectors
// there are as many accumulators in 12 rows as in kRows with kVectors.
constexpr int kHalf = kVectors / 2;
constexpr int kMaxHalfTileRows = 12, kMinHalfTileRows = kMaxHalfTileRows / 2;
// From one row more than a usual tile has to two of these.
constexpr int kMinFewRows = kRows + 1, kMaxFewRows = 2 * kMaxHalfTileRows;
// How many rows of the panel ahead lines are prefetched to the first level, and to the second.
constexpr int64_t kRowsAheadL1 = 48, kRowsAheadL2 = 4 * kSumBlock;

// The epilogue of a tile whose sums are complete, row by row. It is mostly other work than
// multiplications, so it overlaps with those of the next tile.
template <typename Kind>
struct Epilogue {
  const float *sums, *bias;
  float* y;
  int64_t rows, y_stride;  // rows: 0 if there is nothing to do
  bool add, gelu;          // or neither
  [[gnu::always_inline]] void operator()(int64_t r) const {
    const float* from = sums + r * kPanel;
    float* to = y + r * y_stride;
    if (kOverlapGelu && gelu) {
#pragma GCC unroll 8
      for (int64_t j = 0; j < kPanel; j += W) {
        store(to + j, INSTRUCTION_SET::gelu<Kind>(load(from + j) + load(bias + j)));
      }
      return;
    }
#pragma GCC unroll 8
    for (int64_t j = 0; j < kPanel; j += W) {
      const Vec v = load(from + j) + load(bias + j);
      store(to + j, add ? load(to + j) + v : v);
    }
  }
};

// The lines of y that a tile will write.
inline void prefetch_outputs(const MatmulTask& task, int64_t first, int64_t rows) {
  for (int64_t r = first; r < first + rows; ++r) {
    for (int64_t j = 0; j < task.columns; j += kLine) prefetch_l1(task.y + r * task.y_stride + j);
  }
}

// Adds the sums of the words from begin to end to sums [R, V * W], rows kPanel apart: R rows from
// `first` on and V vectors of columns from `column` on. int8 sums are stored as integers until they
// are complete.
template <typename Sum, int R, int V>
[[gnu::always_inline]] inline void accumulate(const MatmulTask& task, int64_t first, int64_t column,
                                              int64_t begin, int64_t end, Sum (&sum)[R][V],
                                              float* sums) {
  const bool has_sums = begin > 0, complete = end == task.words;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      float* to = sums + r * kPanel + v * W;
      const Sum all = has_sums ? (Sum)load(to) + sum[r][v] : sum[r][v];
      store(to, complete ? dequantise(task, first + r, column + v * W, all) : (Vec)all);
    }
  }
  // If a compiler kept the sums in registers for low tiles but not for high ones, it could fuse the
  // last multiplication with the next addition: a row's bits would depend on its tile's height.
  asm volatile("" : : "r"(sums) : "memory");
}

// The sums [R, kPanel] of the words from begin to end, for R rows from `first` on. Meanwhile
// prefetches `lines` lines from `ahead` on for every two rows of the panel, and runs the epilogue
// of another tile.
template <typename Kind, int R, typename Of>
[[gnu::always_inline]] inline void add_block(const MatmulTask& task, int64_t first, int64_t begin,
                                             int64_t end, int64_t lines, const Word32* ahead,
                                             const Epilogue<Of>& epilogue, float* sums) {
  const Word32 *x = task.x + first * task.x_stride + begin, *panel = task.panel + begin * kPanel;
  const int64_t stride = task.x_stride, k = end - begin;
  const auto prefetch = [&](int row, bool half) {
    for (int64_t l = 0; row % 2 == 0 && !half && l < lines; ++l, ahead += kLine) {
      prefetch_l1(ahead);
      // With the first lines of the next page on their way, the processor continues there in time.
      constexpr int64_t kPage = kPageBytes / sizeof(Word32);
      if (reinterpret_cast<uintptr_t>(ahead) % kPageBytes > 0) continue;
      for (int64_t j = 0; j < 3; ++j) prefetch_l1(ahead + kPage + j * kLine);
    }
  };
  constexpr int64_t kRowsPerEpilogueRow = kStep * kVectors;
  const int64_t rows = epilogue.rows;
  int64_t done = 0, due = rows > 0 ? 0 : k;  // rows of y, and the row of the panel beside the next
  int64_t i = 0;
  typename Kind::Sum sum[R][kVectors] = {};
  for (; i + kStep <= k; i += kStep) {
    if (i == due) {
      epilogue(done++);
      due = done < rows ? due + kRowsPerEpilogueRow : k;
    }
    add_rows<Kind, kStep>({x + i}, stride, panel + i * kPanel, kPanel, sum, prefetch);
  }
  for (; i < k; ++i) add_rows<Kind, 1>({x + i}, stride, panel + i * kPanel, kPanel, sum, nothing);
  while (done < rows) epilogue(done++);
  accumulate(task, first, 0, begin, end, sum, sums);
}

// sums [R, kPanel] = x [R] panel.
template <typename Kind, int R>
void tile(const MatmulTask& task, int64_t first, int64_t lines, const Word32* ahead,
          const Epilogue<Kind>& epilogue, float* sums) {
  prefetch_outputs(task, first, R);
  const Epilogue<Kind> none = {};
  const auto ahead_of = [&](int64_t begin) { return ahead + begin * lines / 2 * kLine; };
  for (int64_t begin = 0; begin < task.words; begin += Kind::kBlock) {
    const int64_t end = task.words - begin < Kind::kBlock ? task.words : begin + Kind::kBlock;
    add_block<Kind, R>(task, first, begin, end, lines, ahead_of(begin),
                       begin == 0 ? epilogue : none, sums);
  }
  if (task.exact > 0) {
    add_block<F32, R>(task, first, task.words, task.words + task.exact, lines, ahead_of(task.words),
                      none, sums);
  }
}

template <typename Kind>
using Tile = void (*)(const MatmulTask&, int64_t, int64_t, const Word32*, const Epilogue<Kind>&,
                      float*);
// By number of rows.
template <typename Kind>
constexpr Tile<Kind> kTiles[] = {nullptr,
                                 tile<Kind, 1>,
                                 tile<Kind, 2>,
                                 tile<Kind, 3>,
                                 tile<Kind, 4>,
                                 tile<Kind, (kRows > 4 ? 5 : 4)>,
                                 tile<Kind, (kRows > 4 ? 6 : 4)>};

// Half a tile: sums [R, kPanel / 2] of R rows from `first` on. Beside each row of the panel it
// prefetches Lines lines of half a panel from near_panel on to the first level, and as many from
// far_panel on to the second.
template <typename Kind, int R, int Lines>
void half_tile(const MatmulTask& task, int64_t first, int64_t column, int64_t begin, int64_t end,
               const Word32* near_panel, const Word32* far_panel, float* sums) {
  // The addresses of every third row: there are not enough registers for all, and the other rows
  // are one or two strides from one of these, which addressing modes cover.
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
  const Word32* panel = task.panel + begin * kPanel + column;
  const int64_t stride = task.x_stride, k = end - begin;
  typename Kind::Sum sum[R][kHalf] = {};
  int64_t i = 0;
  const auto prefetch = [&](int row, bool half) {
    if (Lines == 1 && !half) return;  // by measurement: bf16 is 5 % faster than with the other half
    const int64_t line = row * Lines + (Lines == 2 && half);
    prefetch_l1(near_panel + (i * Lines / kHalf + line / kHalf) * kPanel + line % kHalf * kLine);
    prefetch_l2(far_panel + (i * Lines + line) * kLine);
  };
  for (; i + kStep <= k; i += kStep, advance(kStep)) {
    add_rows<Kind, kStep>(x, stride, panel + i * kPanel, kPanel, sum, prefetch);
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
  return half_tile_of<Kind, Lines>(rows,
                                   CountLanes<kMaxHalfTileRows - kMinHalfTileRows + 1>::Type());
}

// With few rows, the second-level cache would be as busy as the multipliers if each tile read the
// panel from there while the next panel passes through. So a block of half the panel lies in the
// first level for both tiles, while the one after it is brought there. A single tile prefetches
// only what it needs soon.
template <typename Kind>
void matmul_few(const MatmulTask& task) {
  const int64_t rows = task.rows, all = task.words + task.exact;
  const int64_t second = rows > kMaxHalfTileRows ? rows / 2 : 0, first = rows - second;
  // A block of the sums, and where two tiles share it at most kSumBlock.
  const int64_t block = Kind::kBlock < kSumBlock || second == 0 ? Kind::kBlock : kSumBlock;
  alignas(64) float sums[kMaxFewRows * kPanel];
  // Row i of this panel, continued by the next.
  const auto at = [&](int64_t i) {
    return i < all ? task.panel + i * kPanel : task.next + (i - all) * kPanel;
  };
  const auto add = [&]<typename Of>(Of, int64_t begin, int64_t end) {
    const int64_t half = (end - begin) / 2 * kPanel;
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
  // At once: spread over the blocks' products, so few lines cost a quarter of the time.
  prefetch_outputs(task, 0, rows);
  for (int64_t begin = 0; begin < task.words; begin += block) {
    add(Kind(), begin, task.words - begin < block ? task.words : begin + block);
  }
  if (task.exact > 0) add(F32(), task.words, all);
  finish_rows<Kind>(task, rows, sums, kPanel, task.y);
}

template <typename Kind>
void matmul(const MatmulTask& task) {
  if constexpr (kVectors == 4) {
    if (task.rows >= kMinFewRows && task.rows <= kMaxFewRows) return matmul_few<Kind>(task);
  }
  const int64_t tiles = (task.rows + kRows - 1) / kRows;
  // The last kPrefetchLines tiles prefetch a line each, fewer tiles several.
  const int64_t before_last = tiles > kPrefetchLines ? (tiles - kPrefetchLines) * kRows : 0;
  int64_t prefetched = 0;
  alignas(64) float sums[2][kRows * kPanel];
  const bool can_wait =
      !task.multiply && (task.activation == Activation::none ||
                         (kOverlapGelu && task.activation == Activation::gelu));
  const bool overlaps = can_wait && task.columns == kPanel;
  const bool gelu = !task.add && task.activation == Activation::gelu;
  float* before = nullptr;  // where the sums of the tile before go, if they wait
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t first = t * kRows;
    const int64_t rows = task.rows - first < kRows ? task.rows - first : kRows;
    const int64_t done = first + rows - before_last, all = task.rows - before_last;
    const int64_t lines = done > 0 ? (kPrefetchLines * done + all - 1) / all - prefetched : 0;
    const Word32* ahead = task.next + prefetched * (task.words + task.exact) / 2 * kLine;
    float* y = task.y + first * task.y_stride;
    const Epilogue<Kind> epilogue = {.sums = sums[(t + 1) % 2],
                                     .bias = task.bias,
                                     .y = before,
                                     .rows = before ? kRows : 0,
                                     .y_stride = task.y_stride,
                                     .add = task.add,
                                     .gelu = gelu};
    kTiles<Kind>[rows](task, first, lines, ahead, epilogue, sums[t % 2]);
    if (overlaps) before = y;
    if (!overlaps || t + 1 == tiles) finish_rows<Kind>(task, rows, sums[t % 2], kPanel, y);
    prefetched += lines;
  }
}

}  // namespace

void matmul_f32(const MatmulTask& task) { matmul<F32>(task); }
void matmul_bf16(const MatmulTask& task) { matmul<Bf16>(task); }
void matmul_int8(const MatmulTask& task) { matmul<Bytes>(task); }

}  // namespace bert::engine::INSTRUCTION_SET
