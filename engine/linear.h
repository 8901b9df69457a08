// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// The oneDNN primitives that the Linears of one model share, by shape, and the threads that they
// run on. Thread-safe.
class Primitives {
 public:
  explicit Primitives(ThreadPool& pool);
  ~Primitives();

 private:
  friend class Linear;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// y = activation(x W^T + b), with W packed once into the layout that oneDNN asks for.
//
// W is kept in panels of columns that fit a core's cache. Threads share out panels and blocks of
// rows; each block is a product by oneDNN into memory that stays in cache, and one pass over its
// rows for bias, activation or residual. A row's result is the same bits for every number of rows
// and threads.
//
// oneDNN makes a primitive for each number of rows, and each takes some 100 KB: so there are about
// fifty heights, a product runs on the next one up, and x must have memory for padded_rows(rows),
// as Buffer::tensor gives it.
class Linear {
 public:
  // Parts are [columns_i, width] row-major as checkpoints store them, with biases [columns_i]; they
  // are laid one below the other. Nothing of them is kept.
  struct Part {
    ConstTensor weight;
    const float* bias;
  };
  Linear(Primitives& primitives, std::span<const Part> parts, Activation activation);
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  int64_t width() const;    // K
  int64_t columns() const;  // N

  void run(ConstTensor x, Tensor y) const;      // y = activation(x W^T + b)
  void run_add(ConstTensor x, Tensor y) const;  // y += x W^T + b: dense and residual in one

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// y [m, n] = x [m, k] w^T by one oneDNN primitive on this thread, and nothing else: the measure of
// the machine that engine/peak.h takes. w: [n, k].
class PlainMatmul {
 public:
  PlainMatmul(int64_t m, int64_t n, int64_t k, const float* w);
  ~PlainMatmul();
  void run(const float* x, float* y) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bert::engine
