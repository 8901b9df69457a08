// SPDX-License-Identifier: Apache-2.0
//
// The interface between the engine and its kernels: tasks, and a table of functions for each
// instruction set.
#pragma once

#include <cstdint>

namespace bert::engine {

// gelu is x Phi(x), by erf; gelu_tanh is Hendrycks and Gimpel's approximation (2016), which Hugging
// Face calls gelu_new and gelu_pytorch_tanh. quick_gelu is x / (1 + e^-1.702x), and silu is
// x / (1 + e^-x).
enum class Activation { none, gelu, gelu_tanh, quick_gelu, relu, tanh, silu };

// One head of one sequence: softmax(scale q k^T) v, for its first `queries` tokens.
// q, k and v point to the head's first column in the sequence's first row; the head is D columns
// wide, and rows lie `stride` apart. context likewise, with context_stride.
struct AttentionTask {
  const float *q = nullptr, *k = nullptr, *v = nullptr;  // [queries, D], [S, D], [S, D]
  float* context = nullptr;                              // [queries, D]
  int64_t stride = 0, context_stride = 0;
  int64_t length = 0, width = 0, queries = 0;  // S, D
  float scale = 1;
  // If there is a bias, bias[i bias_stride + j] is added to q_i k_j before scaling.
  const float* bias = nullptr;
  int64_t bias_stride = 0;
  float* probabilities = nullptr;  // [queries, S], the softmax; or null
  // Receive each query's greatest scaled score g and the sum of e^(score - g), [queries]; or null.
  float *greatest = nullptr, *sums = nullptr;
};

// The type in which inputs and weights are multiplied. Sums are f32, or s32 for int8.
enum class Precision { f32, bf16, int8 };

// 32 bits of inputs or weights, as the products read them: one f32, two bf16, four bytes, or two
// shorts where the machine cannot multiply bytes exactly. May alias any of these.
struct [[gnu::may_alias]] Word32 {
  uint32_t bits;
};
// static, so that each kernel file has its own copy (see engine/kernels/vectors.h).
static inline Word32* as_words(float* floats) { return reinterpret_cast<Word32*>(floats); }
static inline const Word32* as_words(const float* floats) {
  return reinterpret_cast<const Word32*>(floats);
}

// The words of a row [k] that is split into three bf16 each.
static inline int64_t split_words(int64_t k) { return 3 * 16 * ((k + 31) / 32); }

// For a row of inputs in u8: x = (q - zero) scale.
struct RowScale {
  float scale;
  int32_t zero;
};

// Some columns of y = activation(x W^T + b), or if `add` is set of y += x W^T + b, or if `multiply`
// is set of y *= x W^T + b.
struct MatmulTask {
  const Word32* x = nullptr;      // [rows, words], x_stride from row to row
  const Word32* panel = nullptr;  // [words + exact, panel_columns] of W^T, padded with zeros
  const Word32* next = nullptr;   // a panel's worth to prefetch; any address will do
  const float* bias = nullptr;    // [columns]
  float* y = nullptr;             // [rows, columns], y_stride from row to row
  int64_t rows = 0, words = 0, columns = 0, x_stride = 0, y_stride = 0;
  Activation activation = Activation::none;
  bool add = false, multiply = false;
  bool interleaved = false;  // f32 only: x is in strips, as KernelTable::interleave() makes them
  float* widened = nullptr;  // matmul_halved: [words, panel_columns], unless rows are split
  // int8 only.
  int64_t exact = 0;                // inputs that are multiplied in f32
  const Word32* exact_x = nullptr;  // [rows, exact], exact_stride from row to row
  int64_t exact_stride = 0;  // if equal to x_stride, each row's exact inputs follow its others
  const RowScale* row_scales = nullptr;  // [rows]
  const float* column_scales = nullptr;  // [columns of the panel]: w = q column_scale
  const int32_t* column_sums = nullptr;  // [columns of the panel]: the sum of each column's q
  bool paired = false;                   // Int8Format::paired, and fours_fit() for every column
};

// How an int8 product holds its inputs and weights: in `bytes` bytes each (1, or 2 for instructions
// that multiply shorts), with inputs from 0 to max_input. That is 255, or 127 for instructions that
// add two products of bytes in 16 bits, where larger inputs would saturate. paired: matmul_int8
// adds four where the weights allow it: see fours_fit() in engine/dense/quantisation.h.
struct Int8Format {
  int64_t bytes;
  int32_t max_input;
  bool paired = false;
  int64_t per_word() const { return static_cast<int64_t>(sizeof(Word32)) / bytes; }
};

// One instruction set's kernels: the same source, compiled for each (see CMakeLists.txt). A row's
// result depends on that row alone, so that bits do not depend on the batch.
struct KernelTable {
  const char* name;
  uint32_t sets;  // the InstructionSets that it was compiled for
  // y [rows, width] = (x - mean) / sqrt(variance + epsilon) * gamma + beta, by row. y may be x. If
  // not is_centred, mean counts as 0, in the variance too.
  void (*layer_norm)(const float* x, const float* gamma, const float* beta, float epsilon,
                     bool is_centred, int64_t rows, int64_t width, float* y);
  // y = a + b + c, [width]
  void (*add3)(const float* a, const float* b, const float* c, int64_t width, float* y);

  // Transposes rows [columns, words] of a weight matrix into a panel [words, panel_columns], padded
  // with zeros. columns: at most panel_columns.
  void (*pack_panel)(const Word32* const* rows, int64_t columns, int64_t words,
                     int64_t panel_columns, Word32* panel);
  // The panels of this table's products: see PanelFormat in engine/dense/product.h.
  struct Panels {
    int64_t columns, word_step, row_step;
  };
  Panels panels, narrow_panels;  // of matmul_f32; of matmul_bf16 and matmul_int8
  void (*matmul_f32)(const MatmulTask& task);
  void (*matmul_bf16)(const MatmulTask& task);
  void (*matmul_int8)(const MatmulTask& task);
  // f32 by matrix tiles that multiply bf16, or null: as exact as matmul_f32, but not the same bits.
  // split_row() makes the task's rows of x from floats [k]: three rows of bf16 that add up to them,
  // each of split_words(k) / 3 words. There are rows up to a multiple of 16, whatever they hold.
  Panels split_panels = {};
  void (*matmul_split)(const MatmulTask& task) = nullptr;
  void (*split_row)(const float* row, int64_t k, Word32* words) = nullptr;
  // Turns rows x [rows, k] of f32 into strips [k, interleaved_rows], of which the last is padded:
  // a tile reads one strip faster than as many rows. Null and 0 where that is not so. matmul_f32
  // and matmul_halved have the same bits either way.
  int64_t interleaved_rows = 0;
  void (*interleave)(const float* x, int64_t rows, int64_t k, Word32* strips) = nullptr;
  // f32 by weights that are bf16: the bits of matmul_split, if there is one, or of matmul_f32, from
  // panels [words / 2, panel_columns] that hold the weights of two inputs in a word.
  void (*matmul_halved)(const MatmulTask& task);
  // The epilogue of a product: computes `rows` rows of y, from `row` on, from sums [rows, columns],
  // `stride` from row to row: floats, or s32 for int8 products, whose exact_sums are those of the
  // task's exact inputs, if any. Overwrites the sums.
  void (*finish)(const MatmulTask& task, int64_t row, int64_t rows, float* sums, int64_t stride);
  void (*finish_int8)(const MatmulTask& task, int64_t row, int64_t rows, float* sums,
                      const float* exact_sums, int64_t stride);

  // A row [k] rounded to the nearest bf16, ties to even; zeros fill the last word.
  void (*round_bf16)(const float* row, int64_t k, Word32* words);
  // Quantises a row of weights times its factors [k], if any, to q [k] from -most to most (127 at
  // most) times the scale, which is not finite if a weight is not. mean_error: sum of (q scale - w)
  // mean, with mean [k].
  struct Quantised {
    float scale, mean_error;
  };
  Quantised (*quantise_weights)(const float* row, const float* factors, const float* mean,
                                int64_t k, float most, int8_t* q);
  Int8Format int8;  // of matmul_int8
  // Quantises a row of inputs times its factors [k], if any, to 0 to max_input, a range that spans
  // its least and greatest values, and 0. The scale is NaN if an input is not finite.
  RowScale (*quantise_inputs)(const float* x, const float* factors, int64_t k, Int8Format format,
                              Word32* words);

  // Independent multiply-adds in registers, as fast as the machine can: a yardstick. Reads and
  // writes sums [16]. Returns the number of operations, 0 without instructions of this precision.
  int64_t (*multiply_and_add)(Precision precision, int64_t rounds, float* sums);

  int64_t (*attention_scratch)(int64_t length, int64_t width);  // floats needed by a task
  void (*attention_f32)(const AttentionTask& task, float* scratch);
  void (*attention_bf16)(const AttentionTask& task, float* scratch);  // in f32 where that is faster
};

// The tables are constants, so that reading one executes no instruction of its set.
// engine/kernels/pick_kernels.h picks the one that the engine uses.

namespace portable {
extern const KernelTable kernels;
}
namespace avx2 {
extern const KernelTable kernels;
}
namespace avx2_vnni {
extern const KernelTable kernels;
}
namespace avx512 {
extern const KernelTable kernels;
}
namespace avx512_vnni {
extern const KernelTable kernels;
}
namespace avx512_bf16 {
extern const KernelTable kernels;
}
namespace amx {
extern const KernelTable kernels;
}

}  // namespace bert::engine
