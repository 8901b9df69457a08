// SPDX-License-Identifier: Apache-2.0
//
// Products without a Linear: of weights that stay where they are, and to measure.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {

void multiply_in_place(ThreadPool& pool, ConstTensor x, ConstTensor weight, const float* bias,
                       Tensor y) {
  assert(x.columns == weight.columns && y.columns == weight.rows && x.rows == y.rows);
  const Timed timed(Step::linear);
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns;
  const int64_t panel_size = divide_up(width * x.columns, 16) * 16;  // in whole cache lines
  const Buffer panels(panel_size * pool.threads());
  pool.run(divide_up(weight.rows, width), [&](int64_t i, int worker) {
    const int64_t first = i * width, columns = std::min(width, weight.rows - first);
    Word32* panel = as_words(panels.data()) + worker * panel_size;
    std::vector<const Word32*> rows;
    for (int64_t c = 0; c < columns; ++c) rows.push_back(as_words(weight.row(first + c)));
    kernels.pack_panel(rows.data(), columns, x.columns, panel);
    kernels.matmul_f32({.x = as_words(x.data),
                        .panel = panel,
                        .next = panel,
                        .bias = bias + first,
                        .y = y.data + first,
                        .rows = x.rows,
                        .words = x.columns,
                        .columns = columns,
                        .x_stride = x.columns,
                        .y_stride = y.columns});
  });
}

double bf16_speed() {
  constexpr int64_t kRows = 24, kWidth = 512;
  const int64_t columns = row_kernels().panel_columns;
  const Buffer x(kRows * kWidth), panel(kWidth * columns), bias(columns), y(kRows * columns);
  // The least of several times, as anything else only adds to it.
  double f32_seconds = 1, bf16_seconds = 1;
  for (int round = 0; round < 12; ++round) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const int64_t words = precision == Precision::bf16 ? kWidth / 2 : kWidth;
      const MatmulTask task{.x = as_words(x.data()),
                            .panel = as_words(panel.data()),
                            .next = as_words(panel.data()),
                            .bias = bias.data(),
                            .y = y.data(),
                            .rows = kRows,
                            .words = words,
                            .columns = columns,
                            .x_stride = words,
                            .y_stride = columns};
      const auto begin = std::chrono::steady_clock::now();
      matmul_for(precision)(task);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      double& least = precision == Precision::bf16 ? bf16_seconds : f32_seconds;
      least = std::min(least, seconds.count());
    }
  }
  return f32_seconds / bf16_seconds;
}

}  // namespace bert::engine
