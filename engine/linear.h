// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/tensor.h"

namespace bert::engine {

// gelu is x * Phi(x) by erf; gelu_tanh the approximation of Hendrycks and Gimpel 2016 that the hub
// calls gelu_new and gelu_pytorch_tanh.
enum class Activation { none, gelu, gelu_tanh, relu, tanh };

// The oneDNN primitives that the Linears of one model share, by shape. Thread-safe. The thread
// count is part of a primitive, so it belongs here: everything runs on `threads`.
class Primitives {
 public:
  explicit Primitives(int threads);
  ~Primitives();
  int threads() const { return threads_; }

 private:
  friend class Linear;
  struct Impl;
  int threads_;
  std::unique_ptr<Impl> impl_;
};

// y = activation(x W^T + b), with W packed once into the layout that oneDNN asks for.
//
// The layout does not depend on the number of rows, and a row's result is the same bits for every
// number of rows and threads. A primitive is made for each number of rows, though, and each takes
// 100 to 200 KB: so there are about fifty heights, a product runs on the next one up, and x and y
// must have memory for padded_rows(rows), as Buffer::tensor gives it.
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

}  // namespace bert::engine
