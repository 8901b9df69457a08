// SPDX-License-Identifier: Apache-2.0
//
// One panel of a product, x [rows, words] times panel [words, kPanel]:
//
//   sum[r][c] = x[r] . panel[c]                   in blocks of Kind::kBlock words, then their sums
//   v[r][c] = sum[r][c]                                                             (f32, bf16)
//   v[r][c] = row_scale[r] column_scale[c] (sum[r][c] - zero[r] column_sum[c])
//             + the exact inputs' products in f32                                   (int8)
//   y[r][c] = activation(v[r][c] + bias[c]),  or  y[r][c] += or *= v[r][c] + bias[c]
//
// in tiles of kTileRows rows whose sums stay in registers. While a tile is multiplied, the epilogue
// of the previous tile runs, and what the next task reads is prefetched.
#include <type_traits>

#include "engine/kernels/matmul/few_rows.h"
#include "engine/kernels/matmul/finish.h"
#include "engine/kernels/matmul/halved_panels.h"
#include "engine/kernels/matmul/interleaved_rows.h"
#include "engine/kernels/matmul/split_panels.h"
#include "engine/kernels/matmul/tile_panels.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/narrow/paired_bytes.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Lines prefetched per two rows of the panel: one by each of the last kPrefetchLines tiles, so that
// memory can keep up. Together they are a whole panel; two where a row is a single line.
constexpr int64_t kPrefetchLines = kPanel > kLine ? 2 * kPanel / kLine : 2;
// Processors prefetch sequential reads by themselves, but not into the next page.
constexpr int64_t kPage = 4096 / sizeof(Word32);
// By measurement, GELU, which takes four registers more, overlaps only where there are 32.
constexpr bool kOverlapGelu = W == 16;

// The epilogue of a tile whose sums are complete, row by row. It is mostly not multiplication, so
// it overlaps with the multiplications of the next tile.
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

// Computes the sums [R, kPanel] of the words from begin to end, for R rows from `first` on.
// Meanwhile prefetches `lines` lines from `ahead` on for every two rows of the panel, and runs the
// epilogue of another tile.
template <typename Kind, int R, typename Of>
[[gnu::always_inline]] inline void add_block(const MatmulTask& task, int64_t first, int64_t begin,
                                             int64_t end, int64_t lines, const Word32* ahead,
                                             const Epilogue<Of>& epilogue, float* sums) {
  const Word32* const x = task.x + first * task.x_stride + begin;
  const Word32* const panel = task.panel + 2 * begin / kPair<Kind> * kPanel;
  const int64_t stride = task.x_stride, k = end - begin;
  const auto prefetch = [&](int64_t count) {
    for (int64_t l = 0; l < count; ++l, ahead += kLine) {
      prefetch_l1(ahead);
      if (reinterpret_cast<uintptr_t>(ahead) % (kPage * sizeof(Word32)) > 0) continue;
      for (int64_t j = 0; j < 3; ++j) prefetch_l1(ahead + kPage + j * kLine);
    }
  };
  const auto beside = [&](int row, bool half) { prefetch(row % kPair<Kind> || half ? 0 : lines); };
  constexpr int64_t kRowsPerEpilogueRow = kStep * kVectors;
  const int64_t rows = epilogue.rows;
  int64_t i = 0, done = 0, due = rows > 0 ? 0 : k;  // rows of y; the panel's row of the next
  typename Kind::Sum sum[R][kVectors] = {};
  for (; i + kStep <= k; i += kStep) {
    if (i == due) {
      epilogue(done++);
      due = done < rows ? due + kRowsPerEpilogueRow : k;
    }
    if constexpr (std::is_same_v<Kind, PairedBytes>) {
      if (lines > 0) prefetch(lines * kStep / kPair<Kind>);
      add_row_pairs<kStep>(x + i, stride, panel + i * kPanel, sum);
    } else {
      add_rows<Kind, kStep>({x + i}, stride, panel + 2 * i / kPair<Kind> * kPanel, kPanel, sum,
                            beside);
    }
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
  const auto ahead_of = [&](int64_t begin) { return ahead + begin / kPair<Kind> * lines * kLine; };
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

// Indexed by the number of rows.
template <typename Kind>
constexpr decltype(&tile<Kind, 1>) kTiles[] = {nullptr,
                                               tile<Kind, 1>,
                                               tile<Kind, 2>,
                                               tile<Kind, 3>,
                                               tile<Kind, 4>,
                                               tile<Kind, (Kind::kTileRows > 4 ? 5 : 4)>,
                                               tile<Kind, (Kind::kTileRows > 4 ? 6 : 4)>};

template <typename Kind>
void matmul(const MatmulTask& task) {
  if constexpr (kVectors == 4) {
    if (task.rows >= kMinFewRows && task.rows <= kMaxFewRows) return matmul_few<Kind>(task);
  }
  if constexpr (W == 8 && std::is_same_v<Kind, F32>) {
    if (task.interleaved) return matmul_interleaved(task);
  }
  // Tiles of nearly equal height: one of few rows waits for its own sums, and is too short to hide
  // what it should prefetch (16 rows as 6, 6 and 4: 1.4 times as long on Zen 3).
  const int64_t tiles = (task.rows + Kind::kTileRows - 1) / Kind::kTileRows;
  const auto begin = [&](int64_t t) { return task.rows * t / tiles; };
  // The last kPrefetchLines tiles prefetch one line each; if there are fewer tiles, several each.
  const int64_t before_last = tiles > kPrefetchLines ? begin(tiles - kPrefetchLines) : 0;
  int64_t prefetched = 0;
  alignas(64) float sums[2][kRows * kPanel];
  const bool gelu = !task.add && task.activation == Activation::gelu;
  const bool overlaps = task.columns == kPanel && !task.multiply &&
                        (task.activation == Activation::none ||
                         (kOverlapGelu && task.activation == Activation::gelu));
  float* before = nullptr;  // where the previous tile's sums go, if they wait
  int64_t rows_before = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t first = begin(t), end = begin(t + 1), rows = end - first;
    const int64_t done = end - before_last, all = task.rows - before_last;
    const int64_t lines = done > 0 ? (kPrefetchLines * done + all - 1) / all - prefetched : 0;
    const Word32* ahead = task.next + prefetched * (task.words + task.exact) / kPair<Kind> * kLine;
    float* y = task.y + first * task.y_stride;
    const Epilogue<Kind> epilogue = {.sums = sums[(t + 1) % 2],
                                     .bias = task.bias,
                                     .y = before,
                                     .rows = before ? rows_before : 0,
                                     .y_stride = task.y_stride,
                                     .add = task.add,
                                     .gelu = gelu};
    kTiles<Kind>[rows](task, first, lines, ahead, epilogue, sums[t % 2]);
    if (overlaps) before = y;
    rows_before = rows;
    if (!overlaps || t + 1 == tiles) finish_rows<Kind>(task, rows, sums[t % 2], kPanel, y);
    prefetched += lines;
  }
}

template <typename Kind>
void matmul_bytes(const MatmulTask& task) {
  if constexpr (kInt8.paired) {
    if (task.paired) return matmul<PairedBytes>(task);
  }
  matmul<Kind>(task);
}

}  // namespace

void matmul_f32(const MatmulTask& task) { matmul<F32>(task); }
#if defined(HAS_TILES)
void matmul_bf16(const MatmulTask& task) { matmul_tiles<Bf16>(task); }
void matmul_int8(const MatmulTask& task) { matmul_tiles<Bytes>(task); }
void matmul_halved(const MatmulTask& task) { matmul_tiles<SplitRows>(task); }
void matmul_split(const MatmulTask& task) { multiply_split(task); }
void split_row(const float* row, int64_t k, Word32* words) { split_row_in_parts(row, k, words); }
#else
void matmul_bf16(const MatmulTask& task) { matmul<Bf16>(task); }
void matmul_int8(const MatmulTask& task) { matmul_bytes<Bytes>(task); }
void matmul_halved(const MatmulTask& task) {
  const bool few = task.rows <= kMaxHalvedRows && !task.interleaved;
  few ? matmul<Halved>(task) : matmul<F32>(widen_panel(task));
}
#endif

}  // namespace bert::engine::INSTRUCTION_SET
