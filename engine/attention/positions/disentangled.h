// SPDX-License-Identifier: Apache-2.0
//
// Disentangled attention (He et al. 2021): queries are multiplied with keys that encode the
// distance, and keys with queries that encode it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention/positions/distance_panels.h"
#include "engine/kernels/kernel_table.h"
#include "engine/threads/team.h"

namespace bert::engine {

class Disentangled {
 public:
  // rows: the tables' row for each difference of the query's position and the key's, from 1 -
  // max_tokens to max_tokens - 1; never decreasing.
  explicit Disentangled(std::vector<int32_t> rows) : rows_(std::move(rows)) {}
  // The tables, [rows, columns of all heads], `stride` from row to row; null: without that term.
  void set_tables(Team& team, const float* keys, const float* queries, int64_t rows, int64_t stride,
                  int heads, int64_t width);

  // How many products are summed; the sum is divided by the square root of D times this.
  int terms() const { return 1 + (has_keys_ ? 1 : 0) + (has_queries_ ? 1 : 0); }
  // Computes and sets the bias of a task with this many queries and keys, in scratch
  // [scratch_size()].
  int64_t scratch_size(int64_t queries, int64_t keys) const;
  void run(AttentionTask& task, int64_t head, Place place, float* scratch) const;

 private:
  int64_t max_tokens() const { return (std::ssize(rows_) + 1) / 2; }

  std::vector<int32_t> rows_;
  bool has_keys_ = false, has_queries_ = false;
  int64_t width_ = 0, table_rows_ = 0;          // D
  std::vector<DistancePanels> keys_, queries_;  // [A]
};

// He et al. 2023: the row for each distance, with `buckets` in each direction: the first half hold
// one distance each, the rest widen with its logarithm, up to `most`. 0 buckets: one row per
// distance up to `most`.
std::vector<int32_t> distance_rows(int64_t buckets, int64_t most, int64_t max_tokens);

}  // namespace bert::engine
