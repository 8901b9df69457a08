// SPDX-License-Identifier: Apache-2.0
//
// Disentangled attention (He et al. 2021): queries are multiplied with keys made of the distance,
// and keys with queries made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kernels/row_kernels.h"
#include "engine/tensor.h"
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
  // Computes the task's bias, in scratch [scratch_size(S)], and sets it.
  int64_t scratch_size(int64_t length) const;
  void run(AttentionTask& task, int64_t head, float* scratch) const;

 private:
  struct Columns {
    int64_t first, count;
  };
  Columns columns(int64_t length) const;
  int64_t max_tokens() const { return (std::ssize(rows_) + 1) / 2; }
  Buffer pack(Team& team, const float* table, int64_t rows, int64_t stride, int heads) const;
  void multiply(const float* rows, const AttentionTask& task, int64_t count, const float* panels,
                float* copy, float* y) const;

  std::vector<int32_t> rows_;
  bool has_keys_ = false, has_queries_ = false;
  int64_t width_ = 0, padded_ = 0;  // D; rows of a table, in whole panels
  Buffer keys_, queries_;           // [A, padded rows, D] in panels
  Buffer zeros_;                    // [panel_columns]
};

// He et al. 2023: the row for each distance with `buckets` in each of two directions: as the
// distance up to half of them, beyond by its logarithm, up to `most`. Without buckets (0), a row a
// distance up to `most`.
std::vector<int32_t> distance_rows(int64_t buckets, int64_t most, int64_t max_tokens);

}  // namespace bert::engine
