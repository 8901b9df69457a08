// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {

RelativeKeys::RelativeKeys(ThreadPool& pool, ConstTensor table, bool with_key)
    : max_tokens_((table.rows + 1) / 2), width_(table.columns), with_key_(with_key) {
  const RowKernels& kernels = row_kernels();
  const int64_t step = kernels.panel_columns, panels = divide_up(table.rows, step);
  panels_.resize_discarding(panels * step * width_);
  zeros_.resize_discarding(step);
  pool.run(panels, [&](int64_t i, int) {
    std::vector<const Word32*> rows;
    for (int64_t c = i * step; c < std::min(table.rows, (i + 1) * step); ++c) {
      rows.push_back(as_words(table.row(table.rows - 1 - c)));
    }
    kernels.pack_panel(rows.data(), std::ssize(rows), width_,
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

void attention(ThreadPool& pool, ConstTensor qkv, std::span<const int32_t> starts,
               const AttentionOptions& options, Buffer& scratch, Tensor context) {
  const Timed timed(Step::attention);
  const RowKernels& kernels = row_kernels();
  const auto attend =
      options.precision == Precision::f32 ? kernels.attention_f32 : kernels.attention_bf16;
  const int64_t heads = options.heads, hidden = context.columns, width = hidden / heads;
  const int64_t sequences = std::ssize(starts) - 1;
  const bool all = options.reads == Reads::all;
  int64_t longest = 0;
  std::vector<int64_t> offsets = {0};  // of each sequence's probabilities
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    longest = std::max(longest, length);
    offsets.push_back(offsets.back() + heads * (all ? length : 1) * length);
  }
  // In whole cache lines, so that no two threads write to the same one.
  const auto whole_lines = [](int64_t floats) { return divide_up(floats, 16) * 16; };
  const int64_t task_floats = whole_lines(kernels.attention_scratch(longest, width));
  const int64_t keys_floats = options.keys ? options.keys->scratch_size(longest) : 0;
  const int64_t worker_floats = task_floats + whole_lines(keys_floats);
  scratch.resize_discarding(worker_floats * pool.threads());

  pool.run(sequences * heads, [&](int64_t i, int worker) {
    const int64_t sequence = i / heads, head = i % heads;
    const float* q = qkv.row(starts[sequence]) + head * width;
    const int64_t length = starts[sequence + 1] - starts[sequence];
    AttentionTask task{.q = q,
                       .k = q + hidden,
                       .v = q + 2 * hidden,
                       .context = context.row(all ? starts[sequence] : sequence) + head * width,
                       .stride = qkv.columns,
                       .context_stride = hidden,
                       .length = length,
                       .width = width,
                       .queries = all ? length : 1,
                       .scale = 1.0f / std::sqrt(static_cast<float>(width))};
    float* space = scratch.data() + worker * worker_floats;
    if (options.bias) {
      task.bias = options.bias->of_head(head);
      task.bias_stride = -1;
    }
    if (options.keys) options.keys->run(task, space + task_floats);
    if (options.probabilities) {
      task.probabilities = options.probabilities + offsets[sequence] + head * task.queries * length;
    }
    attend(task, space);
  });
}

}  // namespace bert::engine
