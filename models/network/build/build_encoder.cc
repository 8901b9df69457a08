// SPDX-License-Identifier: Apache-2.0
//
// Builds the layers of bert.cc from a checkpoint's tensors, calibrating those to quantise.
#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/network/bert.h"
#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Precision;
using engine::Tensor;

namespace {

// Throws unless all or none of the dense layers are stored in int8: calibration packs all or none.
void check_precision(const Checkpoint& checkpoint, const Layer& layer, bool is_int8) {
  for (const DenseLayer& dense : layer.dense_layers()) {
    for (const std::string& name : dense.names) {
      if (checkpoint.is_int8(name) == is_int8) continue;
      throw std::runtime_error(checkpoint.path() + ": '" + name + ".weight' is " +
                               (is_int8 ? "not int8, expected int8" : "int8, expected floats") +
                               " as in the encoder's first layer");
    }
  }
}

std::optional<engine::Norm> read_norm_if(bool has, Checkpoint& checkpoint, const std::string& name,
                                         int64_t width, const Config& config,
                                         bool may_have_bias = true) {
  if (!has) return std::nullopt;
  return read_norm(checkpoint, name, width, config, may_have_bias);
}

// Of queries or keys, over all heads together or over each.
std::optional<engine::Norm> read_head_norm(Checkpoint& checkpoint, const std::string& layer,
                                           const char* norm, const Config& config, size_t number) {
  const int heads = config.names_of(number).norms_heads ? 1 : config.heads;
  return read_norm_if(*norm, checkpoint, layer + norm, heads * config.heads_of(number).size, config,
                      config.has_bias.query_norm);
}

// Some files store them several times.
WeightTable read_words(Checkpoint& checkpoint, const Config& config) {
  WeightTable words = checkpoint.table(checkpoint.words(), config.vocabulary, config.embedding);
  for (const std::string& name : config.family->word_names()) {
    if (name == checkpoint.words() || !checkpoint.has(name)) continue;
    const WeightTable same = checkpoint.table(name, config.vocabulary, config.embedding);
    checkpoint.expect_equal(same, words, "other word embeddings are not supported");
  }
  return words;
}

// Gives what is added to the hidden state, or to that within a bottleneck.
engine::Linear read_branch(Checkpoint& checkpoint, const std::string& name, int64_t width,
                           bool has_bias, const Config& config, const engine::Product& product,
                           engine::Team& team) {
  DenseNames dense = {{name}, config.inner_width(), width, has_bias};
  dense.scale = config.branch_scale;
  return read_linear(checkpoint, dense, Activation::none, product, team);
}

}  // namespace

Embeddings::Embeddings(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
                       engine::Team& team)
    : word(read_words(checkpoint, config)),
      position(read_position_table(checkpoint, config)),
      type(read_type_table(checkpoint, config)),
      scale(config.embedding_scale),
      dropped_token(config.dropped_token),
      norm(read_norm_if(*config.family->embeddings.norm, checkpoint, config.family->embeddings.norm,
                        config.summed_width(), config)),
      embeds_neighbours(config.embeds_neighbours),
      projection(read_projection(checkpoint, config, f32, team)) {}

namespace {

// The gate of a gated network, otherwise its only input product.
DenseNames gate_names(const std::string& name, const Config& config) {
  DenseNames dense = {{name + config.family->layer.intermediate},
                      config.intermediate,
                      config.inner_width(),
                      config.has_bias.up};
  const bool halves = config.gate == Gate::first_half || config.gate == Gate::second_half;
  if (!halves) return dense;
  dense.columns = 2 * config.intermediate;
  dense.first = config.gate == Gate::first_half ? 0 : config.intermediate;
  dense.count = config.intermediate;
  return dense;
}

std::optional<engine::Linear> read_up(Checkpoint& checkpoint, const std::string& name,
                                      const Config& config, const engine::Product& product,
                                      engine::Team& team) {
  if (config.gate == Gate::none) return std::nullopt;
  DenseNames dense = gate_names(name, config);
  if (config.gate == Gate::separate) {
    dense.names = {name + config.family->layer.up};
  } else {
    dense.first = config.intermediate - dense.first;  // the other half
  }
  return read_linear(checkpoint, dense, Activation::none, product, team);
}

}  // namespace

Layer::Layer(Checkpoint& checkpoint, const std::string& name_in_checkpoint, const Config& config,
             const engine::Products& products, size_t number, Positions of_layer,
             engine::Team& team)
    : name(name_in_checkpoint),
      names(config.names_of(number)),
      precision(products.layers.precision),
      heads(config.heads),
      key_heads(config.heads_of(number).key_heads),
      attention_scale(config.attention_scale),
      pre_norm(config.family->pre_norm),
      qkv(read_qkv(checkpoint, name, names, config, config.heads_of(number), products.layers,
                   team)),
      query_norm(read_head_norm(checkpoint, name, names.query_norm, config, number)),
      key_norm(read_head_norm(checkpoint, name, names.key_norm, config, number)),
      positions(std::move(of_layer)),
      attention_output(read_branch(
          checkpoint, name + names.attention_output, heads * config.heads_of(number).size,
          config.has_bias.attention_output, config, products.layers, team)),
      attention_norm(read_norm_if(config.has_first_norm || name != config.layer_names.front(),
                                  checkpoint, name + names.attention_norm, config.inner_width(),
                                  config)),
      residual_norm(read_norm_if(*names.residual_norm, checkpoint, name + names.residual_norm,
                                 config.hidden, config)),
      output_norm(
          read_norm_if(true, checkpoint, name + names.output_norm, config.inner_width(), config)),
      attention_post_norm(read_norm_if(*names.attention_post_norm, checkpoint,
                                       name + names.attention_post_norm, config.hidden, config)),
      output_post_norm(read_norm_if(*names.output_post_norm, checkpoint,
                                    name + names.output_post_norm, config.hidden, config)) {
  // A layer keeps one copy of x in Workspace::normed.
  assert(!residual_norm || (!pre_norm && !attention_post_norm));
  assert(!config.experts.are_in(number) || !output_post_norm);
  if (*names.convolution) short_convolution.emplace(checkpoint, name, config);
  if (*names.sinks) sinks = checkpoint.vector(name + names.sinks, heads);
  if (names.norms_values) value_norm = unit_norm(config.heads_of(number).size, config);
  const engine::Product& product = products.layers;
  if (config.layer_inputs) layer_inputs.emplace(checkpoint, name, number, config, product, team);
  if (config.bottleneck.width > 0) bottleneck.emplace(checkpoint, name, config, product, team);
  if (config.decodes(number)) cross.emplace(checkpoint, name, config, product, team);
  is_packed_qkv = checkpoint.has(name + names.qkv + ".weight");
  gate = config.gate;
  qkv.set_prefetch_target(attention_output);
  if (config.experts.are_in(number)) {
    experts.emplace(checkpoint, name, config, product, products.f32, team);
    attention_output.set_prefetch_target(*experts->products().front());
    return;
  }
  intermediate.emplace(
      read_linear(checkpoint, gate_names(name, config), config.activation, product, team));
  up = read_up(checkpoint, name, config, product, team);
  output.emplace(read_branch(checkpoint, name + names.output, config.intermediate,
                             config.has_bias.down, config, product, team));
  attention_output.set_prefetch_target(cross ? cross->query : *intermediate);
  if (cross) cross->prefetch_in_turn(*intermediate);
  intermediate->set_prefetch_target(up ? *up : *output);
  if (up) up->set_prefetch_target(*output);
  if (bottleneck) bottleneck->prefetch_in_turn(qkv, attention_output, *intermediate, *output);
  output->set_slice_target(*intermediate);
  if (!output_post_norm) slices = intermediate->product().slices(config.intermediate);
}

void Layer::make_distance_tables(engine::Team& team) {
  if (!positions.disentangled) return;
  const engine::ConstTensor x = positions.distances;  // [2 span, H]
  const int64_t hidden = x.columns;
  engine::Buffer scratch, shared, keys, queries;
  const bool own = positions.distance_keys || positions.distance_queries;
  const float *key = nullptr, *query = nullptr;
  int64_t stride = hidden;
  const auto run = [&](const engine::Linear& linear, engine::Buffer& to) {
    const Tensor y = to.tensor(x.rows, linear.columns());
    linear.run(team, x, scratch, y);
    return y.data;
  };
  if (own) {
    if (positions.distance_keys) key = run(*positions.distance_keys, keys);
    if (positions.distance_queries) query = run(*positions.distance_queries, queries);
  } else {
    const float* states = run(qkv, shared);  // [2 span, 3H]
    stride = 3 * hidden;
    if (positions.uses_keys) key = states + hidden;
    if (positions.uses_queries) query = states;
  }
  positions.disentangled->set_tables(team, key, query, x.rows, stride, heads, hidden / heads);
  positions.distance_keys.reset();
  positions.distance_queries.reset();
}

std::vector<DenseLayer> Layer::dense_layers() const {
  std::vector<DenseLayer> all = {{{name + names.attention_output}, {&attention_output}}};
  if (is_packed_qkv) {
    all.push_back({{name + names.qkv}, {&qkv}});
  } else if (bottleneck) {
    all.push_back({{name + names.query, name + names.key}, {&qkv}});
  } else {
    all.push_back({{name + names.query, name + names.key, name + names.value}, {&qkv}});
  }
  if (cross) {
    all.push_back({{name + names.cross_query}, {&cross->query}});
    all.push_back({{name + names.cross_key, name + names.cross_value}, {&cross->key_value}});
    all.push_back({{name + names.cross_output}, {&cross->output}});
  }
  const auto append = [&](const std::vector<DenseLayer>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (bottleneck) append(bottleneck->dense_layers(name, name + names.value));
  if (layer_inputs) append(layer_inputs->dense_layers(name));
  if (experts) {
    append(experts->dense_layers(name, names.experts));
    return all;
  }
  all.push_back({{name + names.output}, {&*output}});
  const std::string in = name + names.intermediate;
  switch (gate) {
    case Gate::none:
      all.push_back({{in}, {&*intermediate}});
      break;
    case Gate::separate:
      all.push_back({{in}, {&*intermediate}});
      all.push_back({{name + names.up}, {&*up}});
      break;
    case Gate::first_half:
      all.push_back({{in}, {&*intermediate, &*up}});
      break;
    case Gate::second_half:
      all.push_back({{in}, {&*up, &*intermediate}});
  }
  return all;
}

Encoder::Encoder(Checkpoint& checkpoint, const Config& config, const engine::Products& products,
                 const Batch& example, engine::Team& team,
                 const std::function<void(int loaded, int layers)>& progress)
    : precision(products.layers.precision),
      hidden(config.hidden),
      embeddings(checkpoint, config, products.f32, team),
      relative_bias(read_relative_bias(checkpoint, config)),
      distances(read_distances(checkpoint, config, team)),
      convolution(read_convolution(checkpoint, config, products.f32, team)),
      order(config.layer_order),
      layers_per_group(config.inner_layers),
      final_norm(read_norm_if(*config.family->final_norm, checkpoint, config.family->final_norm,
                              config.hidden, config, config.has_bias.final_norm)),
      projection(read_output_projection(checkpoint, config, products.f32, team)) {
  for (const auto* frequencies : {&config.frequencies, &config.local_frequencies}) {
    if (frequencies->empty()) break;
    rotaries.push_back(std::make_unique<engine::Rotary>(
        read_frequencies(checkpoint, config, *frequencies), config.positions));
  }
  if (config.first_decoder_layer > 0) decoder.emplace(checkpoint, config);
  load_layers(checkpoint, config, products, example, team, progress);
  for (size_t i = 0; i < layers.size(); ++i) {  // after the last one, the next batch's first runs
    Layer &layer = layers[i], &next = layers[(i + 1) % layers.size()];
    if (layer.bottleneck) {
      layer.bottleneck->output.set_prefetch_target(next.bottleneck->input);
    } else if (layer.output) {
      layer.output->set_prefetch_target(next.qkv);
    }
  }
}

Positions Encoder::positions_of(size_t layer, Checkpoint& checkpoint, const Config& config,
                                const engine::Product& f32, engine::Team& team) const {
  const int window = config.windows.empty() ? 0 : config.windows[layer];
  const bool rotates = !rotaries.empty() && !config.short_convolutions.are_in(layer);
  const engine::Rotary* rotary = !rotates      ? nullptr
                                 : window == 0 ? rotaries.front().get()
                                               : rotaries.back().get();
  const std::string& name = config.layer_names[layer];
  Positions positions = {.bias = relative_bias.get(),
                         .keys = read_relative_keys(checkpoint, name, config, team),
                         .rotary = rotary,
                         .window = window,
                         .causal = config.is_causal || config.decodes(layer)};
  if (config.position_type == PositionType::disentangled) {
    const Config::Distances& of = config.distances;
    positions.uses_keys = of.keys;
    positions.uses_queries = of.queries;
    positions.disentangled.emplace(engine::distance_rows(of.buckets, of.most, config.positions));
    positions.distances = distances.view;
    positions.distance_keys =
        read_distance_weights(checkpoint, of.keys, name + config.family->layer.distance_key,
                              config.has_bias.distance_key, config, f32, team);
    positions.distance_queries =
        read_distance_weights(checkpoint, of.queries, name + config.family->layer.distance_query,
                              true, config, f32, team);
  }
  return positions;
}

void Encoder::load_layers(Checkpoint& checkpoint, const Config& config,
                          const engine::Products& products, const Batch& example,
                          engine::Team& team,
                          const std::function<void(int loaded, int layers)>& progress) {
  const bool stored =
      checkpoint.is_int8(config.layer_names.front() + config.names_of(0).attention_output);
  const bool calibrates = precision == Precision::int8 && !stored;
  Workspace space;
  Tensor x = space.x.tensor(example.tokens(), hidden);
  if (calibrates) {
    embeddings.run(example, team, space, x);
    if (convolution || config.layer_inputs > 0) copy(team, x, space.kept);
    // Its rows are scattered, and each brought the pages around it into memory.
    Checkpoint::release(embeddings.word);
  }
  layers.reserve(config.layer_names.size());
  for (const std::string& name : config.layer_names) {
    layers.emplace_back(checkpoint, name, config, products, layers.size(),
                        positions_of(layers.size(), checkpoint, config, products.f32, team), team);
    check_precision(checkpoint, layers.back(), stored);
    try {
      if (calibrates) {
        const bool begins = decoder && layers.size() == decoder->first_layer + 1;
        if (begins) begin_decoder(example, team, space, x);
        x = layers.back().calibrate(example, team, space, x);
        if (convolution && layers.size() == 1) convolve(example, team, space, x);
      } else {
        layers.back().make_distance_tables(team);
      }
    } catch (const std::domain_error& error) {
      throw std::runtime_error(checkpoint.path() + ": " + name + ": " + error.what());
    }
    if (progress) {
      progress(static_cast<int>(layers.size()), static_cast<int>(config.layer_names.size()));
    }
  }
}

std::string Encoder::int8_note() const {
  int64_t exact = 0, all = 0;
  for (const Layer& layer : layers) {
    for (const auto& dense : layer.dense_layers()) {
      exact += dense.linears.front()->exact_inputs();
      all += dense.linears.front()->width();
    }
  }
  return fmt::format(
      "int8: {} of the {} inputs of dense layers are far larger than the rest and stay in f32",
      exact, all);
}

}  // namespace bert::models
