// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

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
  Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation);

  int64_t width() const { return k_; }    // K
  int64_t columns() const { return n_; }  // N

  // y = activation(x W^T + b)
  void run(ThreadPool& pool, ConstTensor x, Tensor y) const { run(pool, x, y, false); }
  // y += x W^T + b
  void run_add(ThreadPool& pool, ConstTensor x, Tensor y) const { run(pool, x, y, true); }

 private:
  void run(ThreadPool& pool, ConstTensor x, Tensor y, bool add) const;

  int64_t n_ = 0, k_ = 0;
  Activation activation_;
  Buffer panels_;  // [panels, K, panel_columns]
  Buffer bias_;    // [N]
};

}  // namespace bert::engine
