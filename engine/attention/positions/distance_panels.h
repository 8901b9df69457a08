// SPDX-License-Identifier: Apache-2.0
//
// Products of queries or keys with a table that has a row for each distance between tokens.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Where a task's first query and first key are in their sequence.
struct Place {
  int64_t query = 0, key = 0;
};

class DistancePanels {
 public:
  DistancePanels() = default;
  // row(i): row i of the table, [D].
  DistancePanels(Team& team, int64_t rows, int64_t width,
                 const std::function<const float*(int64_t i)>& row);

  // The whole panels that hold the rows from `least` to `most`.
  struct Columns {
    int64_t first, count;
  };
  Columns columns(int64_t least, int64_t most) const;
  // The most columns that this many rows can need, wherever they begin.
  int64_t most_columns(int64_t rows) const;
  // y [count, columns] = x [count, D] times these rows of the table; the rows of x are `stride`
  // apart. copy: scratch, [count, D].
  void multiply(const float* x, int64_t stride, int64_t count, Columns columns, float* copy,
                float* y) const;

 private:
  int64_t width_ = 0, padded_ = 0;  // D; rows, rounded up to whole panels
  Buffer panels_;                   // [padded rows, D]
  Buffer zeros_;                    // [a panel's columns]
};

}  // namespace bert::engine
