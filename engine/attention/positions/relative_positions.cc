// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/relative_positions.h"

#include <algorithm>

namespace bert::engine {

RelativeKeys::RelativeKeys(Team& team, ConstTensor table, bool with_key)
    : panels_(team, table.rows, table.columns,
              [&](int64_t i) { return table.row(table.rows - 1 - i); }),
      max_tokens_((table.rows + 1) / 2),
      width_(table.columns),
      with_key_(with_key) {}

int64_t RelativeKeys::scratch_size(int64_t queries, int64_t keys) const {
  const int64_t rows = queries + (with_key_ ? keys : 0);
  return std::max(queries, keys) * width_ + rows * panels_.most_columns(queries + keys - 1);
}

void RelativeKeys::run(AttentionTask& task, Place place, float* scratch) const {
  // Column start + j - i of row i belongs to query i and key j, so in row i + 1 a key's column is
  // one further to the left.
  const int64_t start = max_tokens_ - 1 + place.key - place.query;
  const auto columns = panels_.columns(start - (task.queries - 1), start + task.length - 1);
  const int64_t all = columns.count, stride = all - 1;
  float* by_query = scratch + std::max(task.queries, task.length) * width_;
  panels_.multiply(task.q, task.stride, task.queries, columns, scratch, by_query);
  float* bias = by_query + start - columns.first;
  if (with_key_) {
    float* by_key = by_query + task.queries * all;
    panels_.multiply(task.k, task.stride, task.length, columns, scratch, by_key);
    by_key += start - columns.first;
    for (int64_t i = 0; i < task.queries; ++i) {
      for (int64_t j = 0; j < task.length; ++j) bias[i * stride + j] += by_key[j * all + j - i];
    }
  }
  task.bias = bias;
  task.bias_stride = stride;
}

}  // namespace bert::engine
