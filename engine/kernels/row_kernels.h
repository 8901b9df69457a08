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
  // Added to q_i k_j before it is scaled is bias[i bias_stride + j], if there is a bias.
  const float* bias = nullptr;
  int64_t bias_stride = 0;
  float* probabilities = nullptr;  // [queries, S] what v is multiplied with, or null
};

// In what the inputs and the weights of a product are multiplied; sums are f32, or s32 for int8.
enum class Precision { f32, bf16, int8 };

// 32 bits of inputs or weights that a product takes at once, moved as a float whatever they are:
// one f32, two bf16, four bytes, or two shorts where a machine cannot multiply bytes exactly.
using Unit = float;

// A row of inputs in u8: x = (q - zero) scale.
struct RowScale {
  float scale;
  int32_t zero;
};

// Some columns of y = activation(x W^T + b), or where `add` is set of y += x W^T + b.
struct MatmulTask {
  const Unit* x;      // [rows, units + exact], x_stride from row to row
  const Unit* panel;  // [units + exact, panel_columns]: these columns of W^T, zeros past the last
  const Unit* next;   // what will be read after the panel; may be anywhere
  const float* bias;  // [columns]
  float* y;           // [rows, columns], y_stride from row to row
  int64_t rows, units, columns, x_stride, y_stride;
  Activation activation;
  bool add;
  // int8 alone.
  int64_t exact = 0;  // of the inputs that are multiplied in f32, after the others
  const RowScale* row_scales = nullptr;  // [rows]
  const float* column_scales = nullptr;  // [panel_columns]: w = q column_scale
  const int32_t* column_sums = nullptr;  // [panel_columns]: of the q of each column
};

// Floats that are split into bf16 which add up to them: how many, and whose lie together.
constexpr int64_t kSplitParts = 3, kSplitRows = 16, kSplitInputs = 32;

// The same text compiled for each instruction set (see CMakeLists.txt). Every result depends on its
// own row alone, whatever the others are, so that batches cannot change bits.
struct RowKernels {
  const char* name;
  uint32_t sets;  // InstructionSets that it was compiled for
  // y [rows, width] = (x - mean) / sqrt(variance + epsilon) * gamma + beta, by row. y may be x.
  void (*layer_norm)(const float* x, const float* gamma, const float* beta, float epsilon,
                     int64_t rows, int64_t width, float* y);
  // y = a + b + c
  void (*add3)(const float* a, const float* b, const float* c, int64_t width, float* y);
  // A panel of a weight matrix, from its rows [units]: of `columns` of them, at most panel_columns.
  int64_t panel_columns;
  void (*pack_panel)(const Unit* const* rows, int64_t columns, int64_t units, Unit* panel);
  void (*matmul[3])(const MatmulTask& task);  // by Precision

  // Rows [k] as bf16, the nearest (of two as near the even one), in units; zeros fill the last.
  void (*round_bf16)(const float* row, int64_t k, Unit* units);
  // A row of weights as q [k], -127 to 127, times the scale: not a finite number where a weight is
  // none. Each weight is multiplied by its factor before, if there are any. The excess is that of
  // the sum of q scale mean over the sum of the weights times mean [k].
  struct Quantised {
    float scale, excess;
  };
  Quantised (*quantise_weights)(const float* row, const float* factors, const float* mean,
                                int64_t k, int8_t* q);
  int64_t int8_per_unit;
  void (*pack_int8)(const int8_t* q, int64_t k, Unit* units);
  // A row of inputs as u8 between its least and its greatest value and 0. Each input is multiplied
  // by its factor before, if there are any.
  RowScale (*quantise_inputs)(const float* x, const float* factors, int64_t k, Unit* units);
  // Floats of scratch that attention needs for one task.
  int64_t (*attention_scratch)(int64_t length, int64_t width);
  void (*attention_f32)(const AttentionTask& task, float* scratch);
  void (*attention_bf16)(const AttentionTask& task, float* scratch);  // or f32 where that is faster
};

// f32 where the machine multiplies bf16 by tiles: as exact as RowKernels' matmul and as independent
// of other rows, but not the same bits. For k rounded up to kSplitInputs, a panel [k,
// panel_columns] becomes as many units, which are the task's, and at most kSplitRows rows [k]
// become [kSplitRows, kSplitParts / 2 k] units, zeros past the last. `next` is not read.
struct TileKernels {
  const char* name;
  uint32_t sets;
  void (*split_rows)(const float* x, int64_t stride, int64_t rows, int64_t k, Unit* units);
  void (*split_panel)(const Unit* panel, int64_t k, Unit* units);
  void (*matmul_split)(const MatmulTask& task);
};

// The tables are constants, so that to look at one runs none of the instructions that it was
// compiled for. What this machine can run: engine/rows.h.

namespace portable {
extern const RowKernels kernels;
}
namespace avx2 {
extern const RowKernels kernels;
}
namespace avx2_vnni {
extern const RowKernels kernels;
}
namespace avx512 {
extern const RowKernels kernels;
}
namespace avx512_vnni {
extern const RowKernels kernels;
}
namespace avx512_bf16 {
extern const RowKernels kernels;
}
namespace avx512_amx {
extern const TileKernels tiles;
}

}  // namespace bert::engine
