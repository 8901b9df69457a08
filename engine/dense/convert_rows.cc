// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a Linear that does not read floats, from floats to the words that its Product
// reads.
#include <algorithm>
#include <bit>

#include "engine/dense/linear.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {

Linear::ConvertedRows Linear::Packed::convert(Team& team, ConstTensor x, int64_t input_words,
                                              Buffer& scratch) const {
  const Timed timed(Step::convert);
  const KernelTable& kernels = best_kernels();
  const int64_t exact_count = std::ssize(exact),
                filled = words_of(product->precision, product->panel.int8, x.columns);
  const bool dense = product->panel.dense_rows;
  const int64_t stride = converted_stride(x.columns, input_words),
                exact_stride = dense ? exact_count : stride;
  const int64_t row_floats = dense ? input_words + exact_count : stride;
  // The scales follow the rows.
  static_assert(sizeof(RowScale) == 2 * sizeof(float) && alignof(RowScale) == alignof(float));
  const int64_t padded = product->panel.split ? round_up(x.rows, 16) : x.rows;
  scratch.resize_discarding(padded * (row_floats + 2));
  Word32* words_of_x = as_words(scratch.data());
  Word32* exact_of_x = words_of_x + (dense ? x.rows * input_words : input_words);
  auto* scales = reinterpret_cast<RowScale*>(scratch.data() + padded * row_floats);
  constexpr int64_t kConvertedRowsPerTask = 16;
  team.run(divide_up(x.rows, kConvertedRowsPerTask), [&](int64_t block, int) {
    for (int64_t i = block * kConvertedRowsPerTask;
         i < std::min(x.rows, (block + 1) * kConvertedRowsPerTask); ++i) {
      const float* row = x.row(i);
      Word32* to = words_of_x + i * stride;
      if (product->panel.split) {
        product->panel.split(row, x.columns, to);
      } else if (product->precision == Precision::bf16) {
        kernels.round_bf16(row, x.columns, to);
      } else {
        scales[i] = kernels.quantise_inputs(row, mask.empty() ? nullptr : mask.data(), k,
                                            product->panel.int8, to);
      }
      std::fill_n(to + filled, input_words - filled, Word32{0});
      Word32* exact_to = exact_of_x + i * exact_stride;
      for (const int32_t input : exact) *exact_to++ = std::bit_cast<Word32>(row[input]);
    }
  });
  return {.words = words_of_x,
          .stride = stride,
          .exact = exact_of_x,
          .exact_stride = exact_stride,
          .scales = scales};
}

Linear::ConvertedRows Linear::Packed::interleave(Team& team, ConstTensor x, int64_t kept,
                                                 Buffer& scratch) const {
  const Timed timed(Step::convert);
  const int64_t rows_per_task = product->panel.interleaved_rows;
  scratch.resize_discarding(kept + round_up(x.rows, rows_per_task) * x.columns);
  Word32* const to = as_words(scratch.data() + kept);
  team.run(divide_up(x.rows, rows_per_task), [&](int64_t task, int) {
    const int64_t first = task * rows_per_task;
    product->panel.interleave(x.row(first), std::min(rows_per_task, x.rows - first), x.columns,
                              to + first * x.columns);
  });
  return {.words = to, .stride = x.columns, .interleaved = true};
}

void Linear::Packed::add_scales(const ConvertedRows& inputs, int64_t row, int64_t column,
                                MatmulTask& task) const {
  task.exact = std::ssize(exact);
  task.exact_x = inputs.exact + row * inputs.exact_stride;
  task.exact_stride = inputs.exact_stride;
  task.row_scales = inputs.scales + row;
  task.column_scales = column_scales.data() + column;
  task.column_sums = column_sums.data() + column;
  task.paired = paired[column / product->panel.columns];
}

}  // namespace bert::engine
