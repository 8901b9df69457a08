// SPDX-License-Identifier: Apache-2.0
//
// Row operations that only some families need.
#include "engine/profile.h"
#include "engine/rows/rows.h"

namespace bert::engine {

void Norm::scale_and_shift(const float* x, int64_t rows, float* y) const {
  const int64_t width = gamma.size();
  for (; rows > 0; --rows, x += width, y += width) {
    for (int64_t j = 0; j < width; ++j) y[j] = x[j] * gamma.data()[j] + beta.data()[j];
  }
}

void layer_norm_columns(Team& team, Tensor x, int64_t first, int64_t count, const Norm& norm) {
  const Timed timed(Step::norm);
  for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* row = x.row(t) + first;
      norm.run(row, count / norm.gamma.size(), row);
    }
  });
}

namespace {

void add_rows(ConstTensor x, int64_t begin, int64_t end, Tensor y) {
  const float* from = x.row(begin);
  float* to = y.row(begin);
  for (int64_t i = 0; i < (end - begin) * x.columns; ++i) to[i] += from[i];
}

}  // namespace

void add(Team& team, ConstTensor x, Tensor y) {
  const Timed timed(Step::norm);
  for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) { add_rows(x, begin, end, y); });
}

void add_layer_norm(Team& team, Tensor y, const Norm& norm, Tensor x) {
  const Timed timed(Step::norm);
  for_row_blocks(team, y.rows, [&](int64_t begin, int64_t end) {
    norm.run(y.row(begin), end - begin, y.row(begin));
    add_rows(y, begin, end, x);
  });
}

void scale(Team& team, float factor, Tensor x) {
  const Timed timed(Step::embedding);
  for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    float* values = x.row(begin);
    for (int64_t i = 0; i < (end - begin) * x.columns; ++i) values[i] *= factor;
  });
}

}  // namespace bert::engine
