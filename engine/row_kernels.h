// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bert::engine {

// gelu is x Phi(x) by erf; gelu_tanh the approximation of Hendrycks and Gimpel 2016 that the hub
// calls gelu_new and gelu_pytorch_tanh.
enum class Activation { none, gelu, gelu_tanh, relu, tanh };

// One head of one sequence: softmax(scale q k^T) v, for its first `queries` tokens.
// q, k and v point at the head's first column of the sequence's first row, D columns wide, and step
// by `stride` from row to row; context likewise by context_stride.
struct AttentionTask {
  const float *q, *k, *v;  // [queries, D], [S, D], [S, D]
  float* context;          // [queries, D]
  int64_t stride, context_stride;
  int64_t length, width, queries;  // S, D
  float scale;
};

// Some columns of y = activation(x W^T + b), or where `add` is set of y += x W^T + b.
struct MatmulTask {
  const float* x;      // [rows, k]
  const float* panel;  // [k, panel_columns]: these columns of W^T, and zeros past the last one
  const float* next;   // what will be read after the panel; may be anywhere
  const float* bias;   // [columns]
  float* y;            // [rows, columns], y_stride from row to row
  int64_t rows, k, columns, y_stride;
  Activation activation;
  bool add;
};

// The same text compiled for each instruction set (see CMakeLists.txt). Every result depends on its
// own row alone, whatever the others are, so that batches cannot change bits.
struct RowKernels {
  const char* name;
  // y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over `width`. y may be x.
  void (*layer_norm)(const float* x, const float* gamma, const float* beta, float epsilon,
                     int64_t width, float* y);
  // y = a + b + c
  void (*add3)(const float* a, const float* b, const float* c, int64_t width, float* y);
  // A panel of a weight matrix, from its rows [k]: of `columns` of them, at most panel_columns.
  int64_t panel_columns;
  void (*pack_panel)(const float* const* rows, int64_t columns, int64_t k, float* panel);
  void (*matmul)(const MatmulTask& task);
  // Floats of scratch that attention needs for one task.
  int64_t (*attention_scratch)(int64_t length, int64_t width);
  void (*attention)(const AttentionTask& task, float* scratch);
};

namespace portable {
extern const RowKernels kernels;
}
namespace avx2 {
extern const RowKernels kernels;
}
namespace avx512 {
extern const RowKernels kernels;
}

}  // namespace bert::engine
