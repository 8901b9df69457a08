// SPDX-License-Identifier: Apache-2.0
//
// The steps of bert.cc that only some families have.
#include <algorithm>

#include "models/network/bert.h"

namespace bert::models {

using engine::Reads;
using engine::Tensor;

Tensor copy(engine::ConstTensor x, engine::Buffer& to) {
  std::copy_n(x.data, x.size(), to.tensor(x.rows, x.columns).data);
  return {to.data(), x.rows, x.columns};
}

void Layer::place_tokens(const Batch& batch, engine::Team& team, Tensor states) const {
  if (query_norm) engine::layer_norm_columns(team, states, 0, *query_norm);
  if (key_norm) engine::layer_norm_columns(team, states, states.columns / 3, *key_norm);
  if (positions.rotary) positions.rotary->run(team, batch.starts, heads, states);
}

engine::AttentionOptions Layer::attention_options(const Batch& batch, Reads reads,
                                                  float* probabilities) const {
  return {.heads = heads,
          .reads = reads,
          .precision = precision,
          .bias = positions.bias,
          .keys = positions.keys ? &*positions.keys : nullptr,
          .disentangled = positions.disentangled ? &*positions.disentangled : nullptr,
          .window = positions.window,
          .attended = batch.attended,
          .probabilities = probabilities};
}

void Encoder::keep_for_convolution(Tensor x, Workspace& space) const {
  if (convolution) copy(x, space.convolved);
}

void Encoder::convolve(const Batch& batch, engine::Team& team, Workspace& space, Tensor x) const {
  if (!convolution) return;
  const Tensor embedded = {space.convolved.data(), x.rows, x.columns};
  convolution->run(batch, team, embedded, space.wide, space.scratch, x);
}

}  // namespace bert::models
