// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/disentangled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bert::engine {

void Disentangled::set_tables(Team& team, const float* keys, const float* queries, int64_t rows,
                              int64_t stride, int heads, int64_t width) {
  width_ = width;
  table_rows_ = rows;
  has_keys_ = keys != nullptr;
  has_queries_ = queries != nullptr;
  const auto pack = [&](const float* table) {
    std::vector<DistancePanels> panels;
    for (int head = 0; table && head < heads; ++head) {
      panels.emplace_back(team, rows, width,
                          [&](int64_t row) { return table + row * stride + head * width; });
    }
    return panels;
  };
  keys_ = pack(keys);
  queries_ = pack(queries);
}

int64_t Disentangled::scratch_size(int64_t queries, int64_t keys) const {
  // Room for every row of the tables: neighbouring distances can have rows that are far apart.
  const DistancePanels* const panels = has_keys_      ? &keys_.front()
                                       : has_queries_ ? &queries_.front()
                                                      : nullptr;
  const int64_t columns = panels ? panels->most_columns(table_rows_) : 0;
  return std::max(queries, keys) * width_ + queries * keys + (queries + keys) * columns;
}

void Disentangled::run(AttentionTask& task, int64_t head, Place place, float* scratch) const {
  // middle[i - j]: the row for query i and key j.
  const int32_t* middle = rows_.data() + max_tokens() - 1 + place.query - place.key;
  const int64_t least = middle[1 - task.length], most = middle[task.queries - 1];
  DistancePanels::Columns columns = {};
  float* bias = scratch + std::max(task.queries, task.length) * width_;  // [queries, keys]
  float* by_query = bias + task.queries * task.length;
  float* by_key = by_query;
  if (has_keys_) {
    columns = keys_[head].columns(least, most);
    keys_[head].multiply(task.q, task.stride, task.queries, columns, scratch, by_query);
    by_key += task.queries * columns.count;
  }
  if (has_queries_) {
    columns = queries_[head].columns(least, most);
    queries_[head].multiply(task.k, task.stride, task.length, columns, scratch, by_key);
  }
  for (int64_t i = 0; i < task.queries; ++i) {
    for (int64_t j = 0; j < task.length; ++j) {
      const int64_t column = middle[i - j] - columns.first;
      float sum = 0;
      if (has_keys_) sum += by_query[i * columns.count + column];
      if (has_queries_) sum += by_key[j * columns.count + column];
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
