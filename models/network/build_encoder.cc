// SPDX-License-Identifier: Apache-2.0
//
// From a checkpoint's tensors to the layers of bert.cc, calibrated where they are quantised.
#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/network/bert.h"
#include "models/network/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Precision;
using engine::Tensor;

namespace {

// Either all dense layers are stored in int8 or none: calibration packs all or none.
void check_precision(const Checkpoint& checkpoint, const Layer& layer, bool is_int8) {
  for (const Layer::Dense& dense : layer.dense_layers()) {
    for (const std::string& name : dense.names) {
      if (checkpoint.is_int8(name) == is_int8) continue;
      throw std::runtime_error(checkpoint.path() + ": '" + name + ".weight' is " +
                               (is_int8 ? "not int8, expected int8" : "int8, expected floats") +
                               " as in the encoder's first layer");
    }
  }
}

}  // namespace

Embeddings::Embeddings(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
                       engine::Team& team)
    : word(checkpoint.matrix("embeddings.word_embeddings.weight", config.vocabulary,
                             config.embedding)),
      position(read_position_table(checkpoint, config)),
      type(read_type_table(checkpoint, config)),
      norm(read_norm(checkpoint, "embeddings.LayerNorm", config.embedding, config)),
      projection(read_projection(checkpoint, config, f32, team)) {}

Layer::Layer(Checkpoint& checkpoint, const std::string& name_in_checkpoint, const Config& config,
             const engine::Product& product, const engine::RelativeBias* bias, engine::Team& team)
    : name(name_in_checkpoint),
      names(config.family->layer),
      precision(product.precision),
      heads(config.heads),
      qkv(read_linear(checkpoint, {name + names.query, name + names.key, name + names.value},
                      config.hidden, config.hidden, Activation::none, product, team)),
      relative_bias(bias),
      relative_keys(read_relative_keys(checkpoint, name, config, team)),
      attention_output(read_linear(checkpoint, {name + names.attention_output}, config.hidden,
                                   config.hidden, Activation::none, product, team)),
      attention_norm(read_norm(checkpoint, name + names.attention_norm, config.hidden, config)),
      intermediate(read_linear(checkpoint, {name + names.intermediate}, config.intermediate,
                               config.hidden, config.activation, product, team)),
      output(read_linear(checkpoint, {name + names.output}, config.hidden, config.intermediate,
                         Activation::none, product, team)),
      output_norm(read_norm(checkpoint, name + names.output_norm, config.hidden, config)) {
  qkv.set_prefetch_target(attention_output);
  attention_output.set_prefetch_target(intermediate);
  intermediate.set_prefetch_target(output);
}

std::vector<Layer::Dense> Layer::dense_layers() const {
  return {{{name + names.query, name + names.key, name + names.value}, qkv},
          {{name + names.attention_output}, attention_output},
          {{name + names.intermediate}, intermediate},
          {{name + names.output}, output}};
}

Batch example_batch(std::span<const int32_t> empty_ids, std::span<const int32_t> empty_type_ids,
                    const Config& config) {
  constexpr int kInputs = 4, kTokensPerText = 12;
  const size_t special = empty_ids.size(), texts = special > 1 ? special - 1 : 1;
  std::mt19937 generator(1);
  std::vector<Encoding> encodings(kInputs);
  std::vector<int64_t> order;
  for (Encoding& encoding : encodings) {
    const auto add = [&](int32_t id, int32_t type) {
      if (std::ssize(encoding.ids) == config.positions) return;
      encoding.ids.push_back(id);
      encoding.type_ids.push_back(std::min(type, std::max(config.types - 1, 0)));
    };
    for (size_t i = 0; i < std::max(special, texts); ++i) {
      if (i < special) add(empty_ids[i], empty_type_ids[i]);
      if (i >= texts) break;
      for (int j = 0; j < kTokensPerText; ++j) {
        add(static_cast<int32_t>(generator() % config.vocabulary),
            i + 1 < special ? empty_type_ids[i + 1] : 0);
      }
    }
    order.push_back(std::ssize(order));
  }
  return make_batch(encodings, order, config);
}

Encoder::Encoder(Checkpoint& checkpoint, const Config& config, const engine::Products& products,
                 const Batch& example, engine::Team& team)
    : precision(products.layers.precision),
      hidden(config.hidden),
      embeddings(checkpoint, config, products.f32, team),
      relative_bias(read_relative_bias(checkpoint, config)),
      order(config.layer_order),
      layers_per_group(config.inner_layers) {
  load_layers(checkpoint, config, products.layers, example, team);
  for (size_t i = 0; i < layers.size(); ++i) {  // the last one runs before the next batch's first
    layers[i].output.set_prefetch_target(layers[(i + 1) % layers.size()].qkv);
  }
}

void Encoder::load_layers(Checkpoint& checkpoint, const Config& config,
                          const engine::Product& product, const Batch& example,
                          engine::Team& team) {
  const bool stored = checkpoint.is_int8(config.layer_names.front() + config.family->layer.output);
  const bool calibrates = precision == Precision::int8 && !stored;
  Workspace space;
  Tensor x = space.x.tensor(example.tokens(), hidden);
  if (calibrates) {
    embeddings.run(example, team, space, x);
    // Its rows lie far apart, and each brought the pages around it into memory.
    Checkpoint::release(embeddings.word);
  }
  layers.reserve(config.layer_names.size());
  for (const std::string& name : config.layer_names) {
    layers.emplace_back(checkpoint, name, config, product, relative_bias.get(), team);
    check_precision(checkpoint, layers.back(), stored);
    if (!calibrates) continue;
    try {
      x = layers.back().calibrate(example, team, space, x);
    } catch (const std::domain_error& error) {
      throw std::runtime_error(checkpoint.path() + ": " + name + ": " + error.what());
    }
  }
}

}  // namespace bert::models
