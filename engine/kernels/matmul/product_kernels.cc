// SPDX-License-Identifier: Apache-2.0
//
// What products of every kind share: packing weights before them, and finishing sums after them.
#include "engine/kernels/matmul/finish.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Like the one for floats in vectors.h.
inline Vec load_part(const Word32* p, int64_t n) {
  float lanes[W];
  for (int i = 0; i < W; ++i) {
    lanes[i] = 0;
    if (i < n) __builtin_memcpy(lanes + i, p + i, sizeof *lanes);
  }
  return load(lanes);
}

}  // namespace

void pack_panel(const Word32* const* rows, int64_t columns, int64_t words, int64_t panel_columns,
                Word32* panel) {
  for (int64_t j = 0; j < panel_columns; j += W) {
    for (int64_t i = 0; i < words; i += W) {
      const int64_t left = words - i < W ? words - i : W;
      Vec block[W];
      for (int c = 0; c < W; ++c) {
        const bool inside = j + c < columns;
        block[c] = !inside     ? Vec{}
                   : left == W ? load(rows[j + c] + i)
                               : load_part(rows[j + c] + i, left);
      }
      transpose(block);
      for (int64_t d = 0; d < left; ++d) {
        Word32* to = panel + (i + d) * panel_columns + j;
        if (panel_columns - j < W) {
          __builtin_memcpy(to, &block[d], (panel_columns - j) * sizeof(Word32));
        } else {
          store(to, block[d]);
        }
      }
    }
  }
}

void interleave(const float* x, int64_t rows, int64_t k, Word32* strips) {
  for (int64_t first = 0; first < rows; first += kRows, strips += kRows * k) {
    const int64_t height = rows - first < kRows ? rows - first : kRows;
    for (int64_t i = 0; i < k; i += W) {
      const int64_t left = k - i < W ? k - i : W;
      Vec block[W] = {};
      for (int64_t r = 0; r < height; ++r) {
        const float* from = x + (first + r) * k + i;
        block[r] = left == W ? load(from) : load_part(from, left, 0);
      }
      transpose(block);
      Word32* to = strips + i * kRows;
      // A vector is longer than kRows: the next one overwrites what is too much.
      if (i + W < k) {
#pragma GCC unroll 8
        for (int64_t d = 0; d < W; ++d) store(to + d * kRows, block[d]);
      } else {
        for (int64_t d = 0; d < left; ++d) {
          __builtin_memcpy(to + d * kRows, &block[d], kRows * sizeof(Word32));
        }
      }
    }
  }
}

void finish(const MatmulTask& task, int64_t row, int64_t rows, float* sums, int64_t stride) {
  finish_rows<F32>(task, rows, sums, stride, task.y + row * task.y_stride);
}
void finish_int8(const MatmulTask& task, int64_t row, int64_t rows, float* sums,
                 const float* exact_sums, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < task.columns; j += W) {
      float* at = sums + r * stride + j;
      const Vec v = dequantise(task, row + r, j, load_bits(as_words(at)));
      store(at, exact_sums ? v + load(exact_sums + r * stride + j) : v);
    }
  }
  finish_rows<Bytes>(task, rows, sums, stride, task.y + row * task.y_stride);
}

}  // namespace bert::engine::INSTRUCTION_SET
