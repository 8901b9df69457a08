// SPDX-License-Identifier: Apache-2.0
//
// The steps of bert.cc and heads.cc that only some families need, and those of loading int8.
#include <algorithm>
#include <span>
#include <vector>

#include "engine/dense/quantisation.h"
#include "models/network/heads.h"

namespace bert::models {

using engine::Reads;
using engine::Tensor;

Tensor copy(engine::Team& team, engine::ConstTensor x, engine::Buffer& to) {
  const Tensor y = to.tensor(x.rows, x.columns);
  engine::for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    std::copy_n(x.row(begin), (end - begin) * x.columns, y.row(begin));
  });
  return y;
}

// As in ESM (Lin et al. 2023), whose training drops masks as dropout drops inputs, and which so
// expects as many dropped as on average in training.
void Embeddings::drop_tokens(const Batch& batch, engine::Team& team, Tensor sum) const {
  constexpr float kKept = 1 - 0.15f * 0.8f;
  std::vector<float> factors(batch.ids.size());
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int32_t begin = batch.starts[i], end = batch.starts[i + 1];
    const auto ids = std::span(batch.ids).subspan(begin, end - begin);
    const auto dropped = static_cast<float>(std::ranges::count(ids, dropped_token));
    const float factor = kKept / (1 - dropped / static_cast<float>(ids.size()));
    for (int32_t t = begin; t < end; ++t) factors[t] = batch.ids[t] == dropped_token ? 0 : factor;
  }
  engine::for_row_blocks(team, sum.rows, [&](int64_t begin, int64_t end) {
    std::vector<float> room(static_cast<size_t>(sum.columns));
    for (int64_t t = begin; t < end; ++t) {
      const float* const embedding = word.view.row(batch.ids[t], room.data());
      float* x = sum.row(t);
      for (int64_t j = 0; j < sum.columns; ++j) x[j] += (factors[t] - 1) * embedding[j];
    }
  });
}

void Layer::run_experts(const Pass& pass, Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  const Tensor inputs = pre_normed(output_norm, pass, x);
  experts->run_add(team, space.routed, space.wide, space.scratch, inputs, x, before);
}

void Layer::add_layer_inputs(const Pass& pass, Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  layer_inputs->run_add(team, space.kept, space.wide, space.normed, space.scratch, x, before);
}

Tensor Head::widened(engine::Team& team, engine::ConstTensor x, Workspace& space) const {
  const Tensor y = space.wide.tensor(x.rows, widen->columns());
  widen->run(team, x, space.scratch, y);
  return y;
}

Tensor Layer::calibrate(const Batch& example, engine::Team& team, Workspace& space, Tensor x) {
  const auto quantise = [&](const engine::Linear& product, Tensor inputs) {
    // It belongs to this layer, which is not const here.
    const_cast<engine::Linear&>(product).quantise(team, engine::measure_inputs(inputs));
    if (&product == &qkv) make_distance_tables(team);
  };
  // All rows at once, as statistics cover all of a product's inputs.
  return forward({example, team, space, quantise}, Reads::all, false, x.rows, x);
}

void Encoder::convolve(const Batch& batch, engine::Team& team, Workspace& space, Tensor x) const {
  const Tensor embedded = {space.kept.data(), x.rows, x.columns};
  convolution->run(batch, team, embedded, space.wide, space.scratch, x);
}

}  // namespace bert::models
