// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/relative_positions.h"

#include <algorithm>
#include <vector>

#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

RelativeKeys::RelativeKeys(Team& team, ConstTensor table, bool with_key)
    : max_tokens_((table.rows + 1) / 2), width_(table.columns), with_key_(with_key) {
  const RowKernels& kernels = row_kernels();
  const int64_t step = kernels.panel_columns, panels = divide_up(table.rows, step);
  panels_.resize_discarding(panels * step * width_);
  zeros_.resize_discarding(step);
  team.run(panels, [&](int64_t i, int) {
    std::vector<const Word32*> rows;
    for (int64_t c = i * step; c < std::min(table.rows, (i + 1) * step); ++c) {
      rows.push_back(as_words(table.row(table.rows - 1 - c)));
    }
    kernels.pack_panel(rows.data(), std::ssize(rows), width_, step,
                       as_words(panels_.data()) + i * step * width_);
  });
}

// The whole panels that hold the distances within a sequence of this length.
RelativeKeys::Columns RelativeKeys::columns(int64_t length) const {
  const int64_t step = row_kernels().panel_columns;
  const int64_t first = (max_tokens_ - length) / step * step;
  return {.first = first, .count = divide_up(max_tokens_ - 1 + length - first, step) * step};
}

int64_t RelativeKeys::scratch_size(int64_t length) const {
  return length * (width_ + (with_key_ ? 2 : 1) * columns(length).count);
}

// y [count, columns] = rows [count, D], q or k of the task, times the table of distances. copy:
// [count, D].
void RelativeKeys::multiply(const float* rows, const AttentionTask& task, int64_t count,
                            float* copy, float* y) const {
  const RowKernels& kernels = row_kernels();
  const auto [first, all] = columns(task.length);
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(rows + i * task.stride, width_, copy + i * width_);
  for (int64_t c = 0; c < all; c += kernels.panel_columns) {
    const Word32* panel = as_words(panels_.data()) + (first + c) * width_;
    kernels.matmul_f32({.x = as_words(copy),
                        .panel = panel,
                        .next = panel,
                        .bias = zeros_.data(),
                        .y = y + c,
                        .rows = count,
                        .words = width_,
                        .columns = kernels.panel_columns,
                        .x_stride = width_,
                        .y_stride = all});
  }
}

void RelativeKeys::run(AttentionTask& task, float* scratch) const {
  const auto [first, all] = columns(task.length);
  float* by_query = scratch + task.length * width_;
  multiply(task.q, task, task.queries, scratch, by_query);
  // Column max_tokens - 1 + j - i of row i belongs to the tokens i and j: in the next row, i + 1,
  // it is one column to the left.
  float* bias = by_query + max_tokens_ - 1 - first;
  const int64_t stride = all - 1;
  if (with_key_) {
    float* by_key = by_query + task.length * all;
    multiply(task.k, task, task.length, scratch, by_key);
    for (int64_t i = 0; i < task.queries; ++i) {
      for (int64_t j = 0; j < task.length; ++j) {
        bias[i * stride + j] += by_key[j * all + max_tokens_ - 1 - first + j - i];
      }
    }
  }
  task.bias = bias;
  task.bias_stride = stride;
}

}  // namespace bert::engine
