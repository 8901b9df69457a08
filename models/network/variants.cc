// SPDX-License-Identifier: Apache-2.0
//
// The steps of bert.cc that only some families have, and those of loading int8.
#include <algorithm>

#include "engine/dense/quantisation.h"
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

Tensor Layer::calibrate(const Batch& example, engine::Team& team, Workspace& space, Tensor x) {
  // All rows at once, as the statistics of a product are those of all its inputs.
  return forward(example, team, Reads::all, false, x.rows, space, x,
                 [&](const engine::Linear& product, Tensor inputs) {
                   // One of this layer's, which is not const here.
                   const_cast<engine::Linear&>(product).quantise(team,
                                                                 engine::measure_inputs(inputs));
                   if (&product == &qkv) place(team);
                 });
}

void Encoder::convolve(const Batch& batch, engine::Team& team, Workspace& space, Tensor x) const {
  const Tensor embedded = {space.convolved.data(), x.rows, x.columns};
  convolution->run(batch, team, embedded, space.wide, space.scratch, x);
}

}  // namespace bert::models
