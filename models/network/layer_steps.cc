// SPDX-License-Identifier: Apache-2.0
//
// The small steps of bert.cc: norms before and after products, rotations, the attention's options.
#include <span>

#include "models/network/bert.h"
#include "models/network/pooling.h"

namespace bert::models {

using engine::Reads;
using engine::Tensor;

engine::AttentionOptions Layer::attention_options(Reads reads, bool probabilities,
                                                  const Workspace& space) const {
  return {.heads = heads,
          .key_heads = key_heads,
          .reads = reads,
          .precision = precision,
          .scale = attention_scale,
          .bias = positions.bias,
          .keys = positions.keys ? &*positions.keys : nullptr,
          .disentangled = positions.disentangled ? &*positions.disentangled : nullptr,
          .window = positions.window,
          .causal = positions.causal,
          .sinks = sinks.data(),
          .probabilities = probabilities ? space.probabilities.data() : nullptr};
}

void Layer::norm_and_rotate(std::span<const int32_t> starts, engine::Team& team,
                            Tensor states) const {
  const int64_t width = states.columns / (heads + 2 * key_heads), hidden = heads * width;
  if (query_norm) engine::layer_norm_columns(team, states, 0, hidden, *query_norm);
  if (key_norm) engine::layer_norm_columns(team, states, hidden, key_heads * width, *key_norm);
  if (value_norm) {
    layer_norm_columns(team, states, hidden + key_heads * width, key_heads * width, *value_norm);
  }
  if (positions.rotary) positions.rotary->run(team, starts, heads + key_heads, states);
}

Tensor Layer::pre_normed(const std::optional<engine::Norm>& norm, const Pass& pass,
                         Tensor x) const {
  if (!pre_norm || !norm) return x;
  const Tensor y = pass.space.normed.tensor(x.rows, x.columns);
  engine::layer_norm(pass.team, x, *norm, y);
  return y;
}

void Layer::add_normed(const engine::Linear& product, const std::optional<engine::Norm>& norm,
                       const Pass& pass, Tensor inputs, Tensor x,
                       engine::Linear::Slice of_inputs) const {
  const auto& [batch, team, space, before] = pass;
  if (!norm) return product.run_add(team, inputs, space.scratch, x, of_inputs);
  const Tensor y = space.normed.tensor(x.rows, x.columns);
  product.run(team, inputs, space.scratch, y);
  engine::add_layer_norm(team, y, *norm, x);
}

Tensor Encoder::finish(const Batch& batch, engine::Team& team, Reads reads, Workspace& space,
                       Tensor x) const {
  if (needs_all_rows() && reads == Reads::first) x = first_rows(batch, x, space);
  if (final_norm) engine::layer_norm(team, x, *final_norm, x);
  if (!projection) return x;
  const Tensor y = space.embedded.tensor(x.rows, projection->columns());
  projection->run(team, x, space.scratch, y);
  return y;
}

}  // namespace bert::models
