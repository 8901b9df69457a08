// SPDX-License-Identifier: Apache-2.0
#include "models/network/heads.h"

namespace bert::models {

using engine::ConstTensor;
using engine::Tensor;

Tensor Pooler::run(engine::Team& team, ConstTensor first, Workspace& space) const {
  const Tensor pooled = space.pooled.tensor(first.rows, first.columns);
  dense.run(team, first, space.scratch, pooled);
  return pooled;
}

ConstTensor Head::transformed(engine::Team& team, ConstTensor x, Workspace& space) const {
  if (!transform) return x;
  if (widen) x = widened(team, x, space);
  const Tensor y = space.transformed.tensor(x.rows, transform->columns());
  transform->run(team, x, space.scratch, y);
  if (norm) engine::layer_norm(team, y, *norm, y);
  return y;
}

Tensor Head::scores(engine::Team& team, ConstTensor x, Workspace& space) const {
  const Tensor logits = space.logits.tensor(x.rows, columns());
  if (output) {
    output->run(team, x, space.scratch, logits);
  } else {
    engine::multiply_in_place(team, product, x, decoder, decoder_bias.data(), logits);
  }
  return logits;
}

}  // namespace bert::models
