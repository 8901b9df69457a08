// SPDX-License-Identifier: Apache-2.0
//
// What only some families do with rows.
#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {

void layer_norm_columns(Team& team, Tensor x, int64_t first, int64_t count, const Norm& norm) {
  const Timed timed(Step::norm);
  const RowKernels& kernels = row_kernels();
  const int64_t width = norm.gamma.size();
  team.run(x.rows, [&](int64_t t, int) {
    float* row = x.row(t) + first;
    kernels.layer_norm(row, norm.gamma.data(), norm.beta.data(), norm.epsilon, norm.is_centred,
                       count / width, width, row);
  });
}

void add(Team& team, ConstTensor x, Tensor y) {
  const Timed timed(Step::norm);
  team.run(x.rows, [&](int64_t t, int) {
    const float* from = x.row(t);
    float* to = y.row(t);
    for (int64_t i = 0; i < x.columns; ++i) to[i] += from[i];
  });
}

void scale(Team& team, float factor, Tensor x) {
  const Timed timed(Step::embedding);
  team.run(x.rows, [&](int64_t t, int) {
    float* row = x.row(t);
    for (int64_t i = 0; i < x.columns; ++i) row[i] *= factor;
  });
}

}  // namespace bert::engine
