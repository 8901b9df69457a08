// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/kernels/kernel_table.h"

namespace bert::engine {

// y [rows, columns] = activation(x W^T + b), or y += x W^T + b, through a packed panel. x: [rows,
// k], w: [columns, k].
inline std::vector<float> multiply(const KernelTable& kernels, const std::vector<float>& x,
                                   int64_t rows, const std::vector<float>& w, int64_t k,
                                   const std::vector<float>& bias, Activation activation,
                                   std::vector<float> y, bool add) {
  const int64_t columns = std::ssize(bias);
  std::vector<const Word32*> w_rows;
  for (int64_t j = 0; j < columns; ++j) w_rows.push_back(as_words(w.data() + j * k));
  std::vector<Word32> panel(k * kernels.panels.columns);
  kernels.pack_panel(w_rows.data(), columns, k, kernels.panels.columns, panel.data());
  kernels.matmul_f32({.x = as_words(x.data()),
                      .panel = panel.data(),
                      .next = panel.data(),
                      .bias = bias.data(),
                      .y = y.data(),
                      .rows = rows,
                      .words = k,
                      .columns = columns,
                      .x_stride = k,
                      .y_stride = columns,
                      .activation = activation,
                      .add = add});
  return y;
}

}  // namespace bert::engine
