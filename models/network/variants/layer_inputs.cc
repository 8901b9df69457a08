// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/layer_inputs.h"

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Tensor;

namespace {

constexpr const char *kProjection = "ple.per_layer_model_projection",
                     *kGate = ".ple_block.per_layer_input_gate",
                     *kOutput = ".ple_block.per_layer_projection";

// The layer's part of the projection for all layers.
DenseNames projection_names(size_t number, const Config& config) {
  return {.names = {kProjection},
          .columns = config.layers * config.layer_inputs,
          .width = config.hidden,
          .has_bias = false,
          .first = static_cast<int64_t>(number) * config.layer_inputs,
          .count = config.layer_inputs};
}

// The model first divides the norm's input by sqrt(H), which only changes the effect of epsilon.
engine::Norm projection_norm(Checkpoint& checkpoint, const Config& config) {
  engine::Norm norm =
      read_norm(checkpoint, "ple.per_layer_projection_norm", config.layer_inputs, config);
  norm.epsilon *= static_cast<float>(config.hidden);
  return norm;
}

void multiply(engine::Team& team, engine::ConstTensor x, Tensor y) {
  engine::for_row_blocks(team, y.rows, [&](int64_t begin, int64_t end) {
    const float* from = x.row(begin);
    float* to = y.row(begin);
    for (int64_t i = 0; i < (end - begin) * y.columns; ++i) to[i] *= from[i];
  });
}

}  // namespace

LayerInputs::LayerInputs(Checkpoint& checkpoint, const std::string& layer, size_t number,
                         const Config& config, const engine::Product& product, engine::Team& team)
    : projection_(read_linear(checkpoint, projection_names(number, config), Activation::none,
                              product, team)),
      gate_(read_linear(checkpoint, {{layer + kGate}, config.layer_inputs, config.hidden, false},
                        config.activation, product, team)),
      output_(read_linear(checkpoint,
                          {{layer + kOutput}, config.hidden, config.layer_inputs, false},
                          Activation::none, product, team)),
      projection_norm_(projection_norm(checkpoint, config)),
      output_norm_(read_norm(checkpoint, layer + ".ple_block.post_per_layer_input_norm",
                             config.hidden, config)),
      factor_(checkpoint.vector(layer + ".layer_scalar", 1).data()[0]) {}

std::vector<DenseLayer> LayerInputs::dense_layers(const std::string& layer) const {
  return {{{kProjection}, {&projection_}},
          {{layer + kGate}, {&gate_}},
          {{layer + kOutput}, {&output_}}};
}

void LayerInputs::run_add(engine::Team& team, const engine::Buffer& embeddings,
                          engine::Buffer& wide, engine::Buffer& normed, engine::Buffer& scratch,
                          Tensor x, const BeforeProduct& before) const {
  const int64_t columns = gate_.columns();
  const Tensor gate = wide.tensor(2 * x.rows, columns);
  const Tensor given = {gate.row(x.rows), x.rows, columns}, gated = {gate.data, x.rows, columns};
  const Tensor embedded = {const_cast<float*>(embeddings.data()), x.rows, x.columns};
  before(projection_, embedded);
  projection_.run(team, embedded, scratch, given);
  engine::layer_norm(team, given, projection_norm_, given);
  before(gate_, x);
  gate_.run(team, x, scratch, gated);
  multiply(team, given, gated);
  const Tensor y = normed.tensor(x.rows, x.columns);
  before(output_, gated);
  output_.run(team, gated, scratch, y);
  engine::add_layer_norm(team, y, output_norm_, x);
  if (factor_ != 1) engine::scale(team, factor_, x);
}

}  // namespace bert::models
