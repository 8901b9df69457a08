// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {

RelativeKeys::RelativeKeys(ThreadPool& pool, ConstTensor table, bool meets_key)
    : most_((table.rows + 1) / 2), width_(table.columns), meets_key_(meets_key) {
  const RowKernels& kernels = row_kernels();
  const int64_t step = kernels.panel_columns, panels = divide_up(table.rows, step);
  panels_.reserve(panels * step * width_);
  zeros_.reserve(step);
  std::fill_n(zeros_.data(), step, 0.0f);
  pool.run(panels, [&](int64_t i, int) {
    std::vector<const Unit*> rows;
    for (int64_t c = i * step; c < std::min(table.rows, (i + 1) * step); ++c) {
      rows.push_back(table.row(table.rows - 1 - c));
    }
    kernels.pack_panel(rows.data(), std::ssize(rows), width_, panels_.data() + i * step * width_);
  });
}

// The whole panels in which the distances within a sequence of that length lie.
RelativeKeys::Columns RelativeKeys::columns(int64_t length) const {
  const int64_t step = row_kernels().panel_columns;
  const int64_t first = (most_ - length) / step * step;
  return {first, divide_up(most_ - 1 + length - first, step) * step};
}

int64_t RelativeKeys::scratch_size(int64_t length) const {
  return length * (width_ + (meets_key_ ? 2 : 1) * columns(length).count);
}

// y [count, columns] = rows, q or k of the task, times the distances.
void RelativeKeys::multiply(const float* rows, const AttentionTask& task, int64_t count,
                            float* copy, float* y) const {
  const RowKernels& kernels = row_kernels();
  const auto [first, all] = columns(task.length);
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(rows + i * task.stride, width_, copy + i * width_);
  for (int64_t c = 0; c < all; c += kernels.panel_columns) {
    const Unit* panel = panels_.data() + (first + c) * width_;
    kernels.matmul[static_cast<int>(Precision::f32)]({copy, panel, panel, zeros_.data(), y + c,
                                                      count, width_, kernels.panel_columns, width_,
                                                      all, Activation::none, false});
  }
}

void RelativeKeys::run(AttentionTask& task, float* scratch) const {
  const auto [first, all] = columns(task.length);
  float* by_query = scratch + task.length * width_;
  multiply(task.q, task, task.queries, scratch, by_query);
  // Column most - 1 + j - i holds the distance of tokens i and j: in the next row it lies one
  // before.
  float* bias = by_query + most_ - 1 - first;
  const int64_t stride = all - 1;
  if (meets_key_) {
    float* by_key = by_query + task.length * all;
    multiply(task.k, task, task.length, scratch, by_key);
    for (int64_t i = 0; i < task.queries; ++i) {
      for (int64_t j = 0; j < task.length; ++j) {
        bias[i * stride + j] += by_key[j * all + most_ - 1 - first + j - i];
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
  std::vector<int64_t> places = {0};  // of each sequence's probabilities
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    longest = std::max(longest, length);
    places.push_back(places.back() + heads * (all ? length : 1) * length);
  }
  // A cache line apart, so that no two threads write to one.
  const int64_t own = (kernels.attention_scratch(longest, width) + 15) / 16 * 16;
  const int64_t keys = options.keys ? options.keys->scratch_size(longest) : 0;
  const int64_t each = own + (keys + 15) / 16 * 16;
  scratch.reserve(each * pool.threads());

  pool.run(sequences * heads, [&](int64_t i, int worker) {
    const int64_t sequence = i / heads, head = i % heads;
    const float* first = qkv.row(starts[sequence]) + head * width;
    const int64_t length = starts[sequence + 1] - starts[sequence];
    AttentionTask task{first,
                       first + hidden,
                       first + 2 * hidden,
                       context.row(all ? starts[sequence] : sequence) + head * width,
                       qkv.columns,
                       hidden,
                       length,
                       width,
                       all ? length : 1,
                       1.0f / std::sqrt(static_cast<float>(width))};
    float* space = scratch.data() + worker * each;
    if (options.bias) {
      task.bias = options.bias->of_head(head);
      task.bias_stride = -1;
    }
    if (options.keys) options.keys->run(task, space + own);
    if (options.probabilities) {
      task.probabilities = options.probabilities + places[sequence] + head * task.queries * length;
    }
    attend(task, space);
  });
}

}  // namespace bert::engine
