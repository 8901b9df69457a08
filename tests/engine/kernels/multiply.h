// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/kernels/row_kernels.h"

namespace bert::engine {

// x [rows, k] times the transpose of w [columns, k], through a packed panel.
inline std::vector<float> multiply(const RowKernels& kernels, const std::vector<float>& x,
                                   int64_t rows, const std::vector<float>& w, int64_t k,
                                   const std::vector<float>& bias, Activation activation,
                                   std::vector<float> y, bool add) {
  const int64_t columns = std::ssize(bias);
  std::vector<const float*> parts;
  for (int64_t j = 0; j < columns; ++j) parts.push_back(w.data() + j * k);
  std::vector<float> panel(k * kernels.panel_columns);
  kernels.pack_panel(parts.data(), columns, k, panel.data());
  kernels.matmul[0]({x.data(), panel.data(), panel.data(), bias.data(), y.data(), rows, k, columns,
                     k, columns, activation, add});
  return y;
}

}  // namespace bert::engine
