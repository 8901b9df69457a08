// SPDX-License-Identifier: Apache-2.0
//
// What only some families do with rows.
#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {

void layer_norm_columns(Team& team, Tensor x, int64_t first, const Norm& norm) {
  const Timed timed(Step::norm);
  const RowKernels& kernels = row_kernels();
  team.run(x.rows, [&](int64_t t, int) {
    float* row = x.row(t) + first;
    kernels.layer_norm(row, norm.gamma.data(), norm.beta.data(), norm.epsilon, 1, norm.gamma.size(),
                       row);
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

}  // namespace bert::engine
