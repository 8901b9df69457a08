// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/dense/quantisation.h"
#include "engine/kernels/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// y = activation(x W^T + b), with W packed once into panels of columns.
//
// The products are our own kernel's (engine/kernels/matmul_kernels.cc) and not oneDNN's, by
// measurement: a pass over cold weights hides reading the next panel behind computing this one,
// bias, activation and residual happen in the first-level cache, sums in blocks round less, nothing
// has to be made for each number of rows, and a row's result is the same bits for every number of
// rows and threads. In f32, small weights are multiplied by matrix tiles where the machine has them
// (engine/kernels/tile_kernels.cc).
//
// int8: weights are s8 with a scale for each column, inputs u8 with a scale and a zero point for
// each row, sums s32. The outlier inputs of engine/dense/quantisation.h stay in f32.
class Linear {
 public:
  // Parts are [columns_i, width] row-major as checkpoints store them, with biases [columns_i]; they
  // are laid one below the other.
  struct Part {
    ConstTensor weight;
    const float* bias;
  };
  // An int8 Linear as bert-convert keeps it, [N, K] without any panels.
  struct Stored {
    std::vector<int8_t> q;             // [N, K], 0 at the exact inputs
    std::vector<float> scales, bias;   // [N]; the bias with what rounding adds taken off
    std::vector<int32_t> exact;        // [E]: inputs that stay in f32
    std::vector<float> exact_weights;  // [N, E]
  };
  Linear(ThreadPool& pool, const Stored& stored, int64_t width, Activation activation);
  Stored stored() const;

  // f32 and bf16 weights are packed here, int8 ones by quantise(). owner keeps the parts' weights
  // alive and is released once they are packed.
  Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation,
         Precision precision = Precision::f32, std::shared_ptr<void> owner = nullptr);
  // Packs an int8 Linear that was made from floats; once, before the first run(). statistics: of
  // inputs like those that it will get. Throws std::domain_error if they, or a weight, are not
  // finite.
  void quantise(ThreadPool& pool, const InputStatistics& statistics);
  bool is_packed() const { return packed_->units > 0; }

  int64_t width() const { return packed_->k; }    // K
  int64_t columns() const { return packed_->n; }  // N
  // How many inputs of an int8 Linear stay in f32.
  int64_t exact_inputs() const { return std::ssize(packed_->exact); }

  // The product that usually runs next: run() ends by prefetching its first panel. It must live as
  // long as this one.
  void set_prefetch_target(const Linear& next) { packed_->next = next.packed_.get(); }

  // y = activation(x W^T + b). scratch: for x in the Linear's precision.
  void run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(pool, x, scratch, y, false);
  }
  // y += x W^T + b
  void run_add(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(pool, x, scratch, y, true);
  }

 private:
  struct Packed {
    int64_t n = 0, k = 0, units = 0;  // units: of 32 bits, that a row takes without the exact ones
    Activation activation;
    Precision precision;
    Buffer panels;  // [panels, units + exact, panel_columns]
    Buffer bias;    // [N]
    const Packed* next = nullptr;
    // int8
    Buffer column_scales;              // [panels, panel_columns]
    std::vector<int32_t> column_sums;  // [panels, panel_columns]
    std::vector<int32_t> exact;        // the inputs that stay in f32
    std::vector<float> mask;           // [K], 0 for those and 1 for the others; or none
    // Until it is packed.
    std::vector<const float*> rows;  // [N] of [K]
    std::shared_ptr<void> owner;

    bool split() const;  // f32 for the kernels' matmul_split
    int64_t panels_count() const;
    const Unit* panel(int64_t i) const;
    void keep_exact(std::vector<int32_t> inputs);
    // Fills the units of a column's row: what is quantised, then what is exact.
    using FillRow = std::function<void(int64_t column, Unit* to)>;
    void pack(ThreadPool& pool, const FillRow& fill);
    void keep_quantised(int64_t column, const int8_t* q, float scale, Unit* to);
    const Unit* convert(ThreadPool& pool, ConstTensor x, Buffer& scratch) const;
  };
  void run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y, bool add) const;

  std::unique_ptr<Packed> packed_;
};

// y [M, N] = x W^T + b in f32, of weights [N, K] that stay where they are: for the decoder of a
// masked language model, which is the table of word embeddings and so large that it should not lie
// in memory twice. Few rows of x are read for that, and it costs little more than reading W.
void multiply_in_place(ThreadPool& pool, ConstTensor x, ConstTensor weight, const float* bias,
                       Tensor y);

// How many times as fast as in f32 this machine multiplies in bf16, measured now, in 1 ms or less.
double bf16_speed();

}  // namespace bert::engine
