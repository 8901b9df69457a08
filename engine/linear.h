// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// y = activation(x W^T + b), with W packed once into panels of columns.
//
// The products are our own kernel's (engine/matmul_kernels.cc) and not oneDNN's, by measurement: a
// pass over cold weights hides reading the next panel behind computing this one, bias, activation
// and residual happen in the first-level cache, sums in blocks round less, nothing has to be made
// for each number of rows, and a row's result is the same bits for every number of rows and
// threads.
class Linear {
 public:
  // Parts are [columns_i, width] row-major as checkpoints store them, with biases [columns_i]; they
  // are laid one below the other. Nothing of them is kept.
  struct Part {
    ConstTensor weight;
    const float* bias;
  };
  Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation,
         Precision precision = Precision::f32);

  int64_t width() const { return k_; }    // K
  int64_t columns() const { return n_; }  // N

  // y = activation(x W^T + b). scratch: what x becomes in the Linear's precision.
  void run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(pool, x, scratch, y, false);
  }
  // y += x W^T + b
  void run_add(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(pool, x, scratch, y, true);
  }

 private:
  void pack(ThreadPool& pool, const std::vector<const float*>& rows);
  void run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y, bool add) const;
  struct Inputs {
    const Unit* rows;        // [T, units]
    const RowScale* scales;  // [T], int8 alone
  };
  Inputs convert(ThreadPool& pool, ConstTensor x, Buffer& scratch) const;

  int64_t n_ = 0, k_ = 0, units_ = 0;  // units_: of 32 bits, that a row takes
  Activation activation_;
  Precision precision_;
  Buffer panels_;         // [panels, units, panel_columns]
  Buffer bias_;           // [N]
  Buffer column_scales_;  // int8: [panels, panel_columns]
  std::vector<int32_t> column_sums_;
};

}  // namespace bert::engine
