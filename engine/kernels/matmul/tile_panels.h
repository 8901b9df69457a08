// SPDX-License-Identifier: Apache-2.0
//
// A panel of kStripColumns columns times rows of bytes or bf16 on the matrix tiles of AMX: the same
// as matmul<Kind>() in matmul_kernels.cc, in strips of kStripRows rows.
#pragma once

#include "engine/kernels/matmul/finish.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/tiles/tiles.h"
#include "engine/kernels/vectors.h"

#if defined(HAS_TILES)
namespace bert::engine::INSTRUCTION_SET {
namespace {

// f32 rows that split_row() has split into three bf16 each, by weights that are bf16.
struct SplitRows : F32 {};
template <typename Kind>
constexpr int64_t kParts = std::is_same_v<Kind, SplitRows> ? 3 : 1;

constexpr int64_t kStripBytes = kStripColumns * sizeof(Word32);  // of a row of weights or sums
constexpr int kStripVectors = kStripColumns / W;

// The epilogue of a strip whose sums are complete, a few rows at a time: while tiles multiply, the
// vector units are free.
template <typename Kind>
struct StripEpilogue {
  MatmulTask task;  // for the rows that are left
  float* sums = nullptr;

  void set(const MatmulTask& whole, int64_t row, int64_t rows, float* of) {
    task.rows = rows;
    task.y = whole.y + row * whole.y_stride;
    sums = of;
    if constexpr (std::is_same_v<Kind, Bytes>) {
      task.row_scales = whole.row_scales + row;
      task.exact_x = whole.exact_x + row * whole.exact_stride;
    }
  }
  void some(int64_t most) {
    const int64_t rows = task.rows < most ? task.rows : most;
    if (rows == 0) return;
    const bool whole = task.exact == 0 && task.columns == kStripColumns && !task.multiply;
    if (whole && task.add) {
      finish_whole(rows, [](Vec v, const float* at) { return load(at) + v; });
    } else if (whole && task.activation == Activation::gelu) {
      finish_whole(rows, [](Vec v, const float*) { return gelu<Kind>(v); });
    } else if (whole && task.activation == Activation::none) {
      finish_whole(rows, [](Vec v, const float*) { return v; });
    } else {
      if constexpr (std::is_same_v<Kind, Bytes>) dequantise_rows(rows);
      finish_rows<Kind>(task, rows, sums, kStripColumns, task.y);
    }
    sums += rows * kStripColumns;
    task.y += rows * task.y_stride;
    task.rows -= rows;
    if constexpr (std::is_same_v<Kind, Bytes>) {
      task.row_scales += rows;
      task.exact_x += rows * task.exact_stride;
    }
  }

 private:
  // The usual epilogues, with what they need of each column in registers.
  template <typename Function>
  [[gnu::always_inline]] void finish_whole(int64_t rows, const Function& function) {
    Vec bias[kStripVectors], scales[kStripVectors];
    IntVec column_sums[kStripVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kStripVectors; ++v) {
      bias[v] = load(task.bias + v * W);
      if constexpr (std::is_same_v<Kind, Bytes>) {
        scales[v] = load(task.column_scales + v * W);
        __builtin_memcpy(&column_sums[v], task.column_sums + v * W, sizeof column_sums[v]);
      }
    }
    const float* from = sums;
    float* to = task.y;
    for (int64_t r = 0; r < rows; ++r, from += kStripColumns, to += task.y_stride) {
      if (r + rows < task.rows) prefetch_outputs(task, r + rows, 1);
#pragma GCC unroll 2
      for (int v = 0; v < kStripVectors; ++v) {
        Vec sum = load(from + v * W);
        if constexpr (std::is_same_v<Kind, Bytes>) {
          const RowScale& row = task.row_scales[r];
          const Vec exact = __builtin_convertvector((IntVec)sum - row.zero * column_sums[v], Vec);
          sum = multiply_add(bias[v], exact, row.scale * scales[v]);
        } else {
          sum += bias[v];
        }
        store(to + v * W, function(sum, to + v * W));
      }
    }
  }
  void dequantise_rows(int64_t rows) {
    const Word32* exact_weights = task.panel + task.words * kStripColumns;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < kStripColumns; j += W) {
        float* at = sums + r * kStripColumns + j;
        Vec v = dequantise(task, r, j, load_bits(as_words(at)));
        const Word32* x = task.exact_x + r * task.exact_stride;
        for (int64_t e = 0; e < task.exact; ++e) {
          v = multiply_add(v, F32::broadcast(x + e), load(exact_weights + e * kStripColumns + j));
        }
        store(at, v);
      }
    }
  }
};

template <typename Kind>
void matmul_tiles(const MatmulTask& task) {
  if (task.rows == 0) return;  // tiles cannot have 0 rows
  // Of the panel, and of a part of a row.
  const int64_t words = kParts<Kind> == 1 ? task.words : task.words / 2;
  const int64_t steps = words / kTileWords, strips = (task.rows + kStripRows - 1) / kStripRows;
  // What comes next is prefetched evenly over all steps.
  const int64_t next_lines = (words + task.exact) * kStripColumns / kLine;
  const int64_t lines = (next_lines + steps * strips - 1) / (steps * strips);
  const Word32* ahead = task.next;
  const Word32* const ahead_end = task.next + next_lines * kLine;
  alignas(64) float sums[2][kStripRows * kStripColumns];
  StripEpilogue<Kind> before{.task = task};
  before.task.rows = 0;
  // Not in the first steps, which would wait for the sums to be stored.
  const int64_t wait = steps > 4 ? 2 : 0;
  const int64_t epilogue_rows = (kStripRows + steps - wait - 1) / (steps - wait);
  for (int64_t i = 0; i < strips; ++i) {
    const int64_t row = i * kStripRows;
    const int64_t rows = task.rows - row < kStripRows ? task.rows - row : kStripRows;
    float* const to = sums[i % 2];
    const auto multiply = [&]<bool Two>() {
      const Word32 *x = task.x + row * task.x_stride, *w = task.panel;
      const auto x_bytes = static_cast<int64_t>(task.x_stride * sizeof(Word32));
      clear_sums();
      for (int64_t step = 0; step < steps; ++step) {
        add_tiles<Kind, Two, kParts<Kind>>(x, x_bytes, w, kStripBytes, words);
        x += kTileWords;
        w += kTileWords * kStripColumns;
        for (int64_t l = 0; l < lines && ahead < ahead_end; ++l, ahead += kLine) {
          prefetch_l2(ahead);
        }
        if (step >= wait) before.some(epilogue_rows);
      }
      store_sums<Two>(to, kStripBytes);
    };
    if (row == 0 || rows < kStripRows) shape_tiles(rows);
    rows > kTileRows ? multiply.template operator()<true>() : multiply.template operator()<false>();
    before.set(task, row, rows, to);
  }
  before.some(kStripRows);
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
#endif
