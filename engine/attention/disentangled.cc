// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/disentangled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

void Disentangled::set_tables(Team& team, const float* keys, const float* queries, int64_t rows,
                              int64_t stride, int heads, int64_t width) {
  width_ = width;
  padded_ = divide_up(rows, row_kernels().panel_columns) * row_kernels().panel_columns;
  has_keys_ = keys != nullptr;
  has_queries_ = queries != nullptr;
  zeros_.resize_discarding(row_kernels().panel_columns);
  if (keys) keys_ = pack(team, keys, rows, stride, heads);
  if (queries) queries_ = pack(team, queries, rows, stride, heads);
}

Buffer Disentangled::pack(Team& team, const float* table, int64_t rows, int64_t stride,
                          int heads) const {
  const RowKernels& kernels = row_kernels();
  const int64_t step = kernels.panel_columns, panels = padded_ / step;
  Buffer packed(heads * padded_ * width_);
  team.run(heads * panels, [&](int64_t i, int) {
    const int64_t head = i / panels, first = i % panels * step;
    std::vector<const Word32*> each;
    for (int64_t row = first; row < std::min(rows, first + step); ++row) {
      each.push_back(as_words(table + row * stride + head * width_));
    }
    kernels.pack_panel(each.data(), std::ssize(each), width_, step,
                       as_words(packed.data()) + (head * padded_ + first) * width_);
  });
  return packed;
}

// The whole panels that hold the distances within a sequence of this length.
Disentangled::Columns Disentangled::columns(int64_t length) const {
  const int64_t step = row_kernels().panel_columns;
  const int64_t least = rows_[max_tokens() - length], most = rows_[max_tokens() - 2 + length];
  const int64_t first = least / step * step;
  return {.first = first, .count = divide_up(most + 1 - first, step) * step};
}

int64_t Disentangled::scratch_size(int64_t length) const {
  return length * (width_ + (terms() - 1) * columns(length).count + length);
}

// y [count, columns] = rows [count, D], q or k of the task, times the table. copy: [count, D].
void Disentangled::multiply(const float* rows, const AttentionTask& task, int64_t count,
                            const float* panels, float* copy, float* y) const {
  const RowKernels& kernels = row_kernels();
  const auto [first, all] = columns(task.length);
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(rows + i * task.stride, width_, copy + i * width_);
  for (int64_t c = 0; c < all; c += kernels.panel_columns) {
    const Word32* panel = as_words(panels) + (first + c) * width_;
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

void Disentangled::run(AttentionTask& task, int64_t head, float* scratch) const {
  const auto [first, all] = columns(task.length);
  const int64_t of_head = head * padded_ * width_;
  float* bias = scratch + task.length * width_;  // [queries, S]
  float* by_query = bias + task.length * task.length;
  float* by_key = by_query + (has_keys_ ? task.length * all : 0);
  if (has_keys_) multiply(task.q, task, task.queries, keys_.data() + of_head, scratch, by_query);
  if (has_queries_) {
    multiply(task.k, task, task.length, queries_.data() + of_head, scratch, by_key);
  }
  for (int64_t i = 0; i < task.queries; ++i) {
    const int32_t* rows = rows_.data() + max_tokens() - 1 + i;  // rows[-j]: of the key j
    for (int64_t j = 0; j < task.length; ++j) {
      const int64_t column = rows[-j] - first;
      float sum = 0;
      if (has_keys_) sum += by_query[i * all + column];
      if (has_queries_) sum += by_key[j * all + column];
      bias[i * task.length + j] = sum;
    }
  }
  task.bias = bias;
  task.bias_stride = task.length;
}

std::vector<int32_t> distance_rows(int64_t buckets, int64_t most, int64_t max_tokens) {
  const int64_t span = buckets > 0 ? buckets : most, middle = buckets / 2;
  // In float32, as published: the logarithm of the farthest distance is then exactly the divisor.
  const float divisor =
      std::log(static_cast<float>(static_cast<double>(most - 1) / static_cast<double>(middle)));
  std::vector<int32_t> rows;
  for (int64_t distance = 1 - max_tokens; distance < max_tokens; ++distance) {
    int64_t bucket = distance;
    if (buckets > 0 && std::abs(distance) > middle) {
      const float far = static_cast<float>(std::abs(distance)) / static_cast<float>(middle);
      const auto steps =
          static_cast<int64_t>(std::ceil(std::log(far) / divisor * static_cast<float>(middle - 1)));
      bucket = distance < 0 ? -(steps + middle) : steps + middle;
    }
    rows.push_back(static_cast<int32_t>(std::clamp<int64_t>(bucket + span, 0, 2 * span - 1)));
  }
  return rows;
}

}  // namespace bert::engine
