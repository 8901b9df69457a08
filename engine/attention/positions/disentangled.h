// SPDX-License-Identifier: Apache-2.0
//
// Disentangled attention (He et al. 2021): queries are multiplied with keys made of the distance,
// and keys with queries made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attention/positions/distance_panels.h"
#include "engine/kernels/row_kernels.h"
#include "engine/threads/team.h"

namespace bert::engine {

class Disentangled {
 public:
  // rows: by the query's position less the key's, from 1 - max_tokens to max_tokens - 1, the row of
  // the tables; it never falls.
  explicit Disentangled(std::vector<int32_t> rows) : rows_(std::move(rows)) {}
  // The tables, [rows, columns of all heads], `stride` from row to row; null: without that term.
  void set_tables(Team& team, const float* keys, const float* queries, int64_t rows, int64_t stride,
                  int heads, int64_t width);

  // How many products are summed; they are divided by the square root of D times this.
  int terms() const { return 1 + (has_keys_ ? 1 : 0) + (has_queries_ ? 1 : 0); }
  // Computes the bias of a task with so many queries and keys, in scratch [scratch_size()], and
  // sets it.
  int64_t scratch_size(int64_t queries, int64_t keys) const;
  void run(AttentionTask& task, int64_t head, Place place, float* scratch) const;

 private:
  int64_t max_tokens() const { return (std::ssize(rows_) + 1) / 2; }

  std::vector<int32_t> rows_;
  bool has_keys_ = false, has_queries_ = false;
  int64_t width_ = 0, table_rows_ = 0;          // D
  std::vector<DistancePanels> keys_, queries_;  // [A]
};

// He et al. 2023: the row for each distance with `buckets` in each of two directions: as the
// distance up to half of them, beyond by its logarithm, up to `most`. Without buckets (0), a row a
// distance up to `most`.
std::vector<int32_t> distance_rows(int64_t buckets, int64_t most, int64_t max_tokens);

}  // namespace bert::engine
