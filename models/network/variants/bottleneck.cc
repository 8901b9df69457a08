// SPDX-License-Identifier: Apache-2.0
//
// MobileBERT's layers and embeddings.
#include "models/network/variants/bottleneck.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "models/network/bert.h"
#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Linear;
using engine::Reads;
using engine::Tensor;

namespace {

constexpr const char *kNarrowInput = ".bottleneck.input", *kSharedInput = ".bottleneck.attention",
                     *kWidenOutput = ".output.bottleneck";

std::string earlier_network(const std::string& layer, size_t i) {
  return fmt::format("{}.ffn.{}", layer, i);
}

Linear read_narrow_dense(Checkpoint& checkpoint, const std::string& name, int64_t columns,
                         int64_t width, const engine::Product& product, engine::Team& team,
                         Activation activation = Activation::none) {
  return read_linear(checkpoint, {{name}, columns, width}, activation, product, team);
}

}  // namespace

Bottleneck::Bottleneck(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                       const engine::Product& product, engine::Team& team)
    : input(read_narrow_dense(checkpoint, layer + kNarrowInput + ".dense", config.bottleneck.width,
                              config.hidden, product, team)),
      shared(read_narrow_dense(checkpoint, layer + kSharedInput + ".dense", config.bottleneck.width,
                               config.hidden, product, team)),
      value(read_narrow_dense(checkpoint, layer + config.family->layer.value,
                              config.bottleneck.width, config.hidden, product, team)),
      output(read_narrow_dense(checkpoint, layer + kWidenOutput + ".dense", config.hidden,
                               config.bottleneck.width, product, team)),
      input_norm(read_norm(checkpoint, layer + kNarrowInput + ".LayerNorm", config.bottleneck.width,
                           config)),
      shared_norm(read_norm(checkpoint, layer + kSharedInput + ".LayerNorm",
                            config.bottleneck.width, config)),
      output_norm(
          read_norm(checkpoint, layer + kWidenOutput + ".LayerNorm", config.hidden, config)) {
  const LayerNames& names = config.family->layer;
  const int64_t width = config.bottleneck.width;
  networks.reserve(config.bottleneck.networks - 1);
  for (int i = 0; i + 1 < config.bottleneck.networks; ++i) {
    const std::string name = earlier_network(layer, i);
    networks.push_back(
        {read_narrow_dense(checkpoint, name + names.intermediate, config.intermediate, width,
                           product, team, config.activation),
         read_narrow_dense(checkpoint, name + names.output, width, config.intermediate, product,
                           team),
         read_norm(checkpoint, name + names.output_norm, width, config)});
  }
}

std::vector<DenseLayer> Bottleneck::dense_layers(const std::string& layer,
                                                 const std::string& value_name) const {
  std::vector<DenseLayer> all = {{{layer + kNarrowInput + ".dense"}, {&input}},
                                 {{layer + kSharedInput + ".dense"}, {&shared}},
                                 {{value_name}, {&value}},
                                 {{layer + kWidenOutput + ".dense"}, {&output}}};
  for (size_t i = 0; i < networks.size(); ++i) {
    const std::string name = earlier_network(layer, i);
    all.push_back({{name + ".intermediate.dense"}, {&networks[i].intermediate}});
    all.push_back({{name + ".output.dense"}, {&networks[i].output}});
  }
  return all;
}

void Bottleneck::prefetch_in_turn(Linear& query_key, Linear& attention_output,
                                  Linear& last_intermediate, Linear& last_output) {
  std::vector<Linear*> order = {&input, &shared, &query_key, &value, &attention_output};
  for (Network& network : networks) {
    order.insert(order.end(), {&network.intermediate, &network.output});
  }
  order.insert(order.end(), {&last_intermediate, &last_output, &output});
  for (size_t i = 0; i + 1 < order.size(); ++i) order[i]->set_prefetch_target(*order[i + 1]);
}

// y = norm(x W^T + b)
void Layer::narrow(const Pass& pass, const Linear& product, const engine::Norm& norm, Tensor x,
                   Tensor y) const {
  pass.before(product, x);
  product.run(pass.team, x, pass.space.scratch, y);
  engine::layer_norm(pass.team, y, norm, y);
}

void Layer::run_networks(const Pass& pass, int64_t rows_at_a_time, Tensor y) const {
  const auto& [batch, team, space, before] = pass;
  for (const Bottleneck::Network& network : bottleneck->networks) {
    for (int64_t first = 0; first < y.rows; first += rows_at_a_time) {
      const Tensor part = {y.row(first), std::min(rows_at_a_time, y.rows - first), y.columns};
      const Tensor wide = space.wide.tensor(part.rows, network.intermediate.columns());
      before(network.intermediate, part);
      network.intermediate.run(team, part, space.scratch, wide);
      before(network.output, wide);
      network.output.run_add(team, wide, space.scratch, part);
    }
    engine::layer_norm(team, y, network.norm, y);
  }
}

// Self-attention that is added to y [T, N].
void Layer::attend_narrowed(const Pass& pass, bool probabilities, int64_t rows_at_a_time, Tensor x,
                            Tensor shared, Tensor y) const {
  const auto& [batch, team, space, before] = pass;
  before(qkv, shared);
  before(bottleneck->value, x);
  const auto project = [&](int64_t row, std::span<const int32_t>, Tensor states) {
    const auto rows_of = [&](Tensor of) { return Tensor{of.row(row), states.rows, of.columns}; };
    engine::Buffer& scratch = pass.space.scratch;
    qkv.run_columns(pass.team, rows_of(shared), scratch, states, 0);
    bottleneck->value.run_columns(pass.team, rows_of(x), scratch, states, qkv.columns());
  };
  const Tensor context = space.context.tensor(y.rows, y.columns);
  attend_by_groups(pass, attention_options(Reads::all, probabilities, space),
                   probabilities ? x.rows : rows_at_a_time, 3 * y.columns, project, context);
  before(attention_output, context);
  attention_output.run_add(team, context, space.scratch, y);
  engine::layer_norm(team, y, *attention_norm, y);
}

Tensor Layer::run_narrowed(const Pass& pass, bool probabilities, int64_t rows_at_a_time,
                           Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  const int64_t width = attention_output.columns();
  const Tensor both = space.narrowed.tensor(2 * x.rows, width);
  const Tensor y = {both.data, x.rows, width}, shared = {both.row(x.rows), x.rows, width};
  narrow(pass, bottleneck->input, bottleneck->input_norm, x, y);
  narrow(pass, bottleneck->shared, bottleneck->shared_norm, x, shared);
  attend_narrowed(pass, probabilities, rows_at_a_time, x, shared, y);
  run_networks(pass, rows_at_a_time, y);
  feed_forward(pass, rows_at_a_time, y);
  before(bottleneck->output, y);
  bottleneck->output.run_add(team, y, space.scratch, x);
  engine::layer_norm(team, x, bottleneck->output_norm, x);
  return x;
}

// The products of each token's embedding between those of the next and the previous one, or zeros
// at an end of the sequence.
void Embeddings::join_neighbours(const Batch& batch, engine::Team& team, Workspace& space,
                                 Tensor x) const {
  const int64_t width = word.view.columns;
  const Tensor three = space.embedded.tensor(x.rows, 3 * width);
  const auto copy_word = [&](bool exists, int64_t t, float* to) {
    if (!exists) {
      std::fill_n(to, width, 0.0f);
    } else if (const float* row = word.view.row(batch.ids[t], to); row != to) {
      std::copy_n(row, width, to);
    }
  };
  engine::for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const bool is_last = t + 1 == x.rows || batch.positions[t + 1] == 0;
      copy_word(!is_last, t + 1, three.row(t));
      copy_word(true, t, three.row(t) + width);
      copy_word(batch.positions[t] > 0, t - 1, three.row(t) + 2 * width);
    }
  });
  projection->run(team, three, space.scratch, x);
}

void Embeddings::run_with_neighbours(const Batch& batch, engine::Team& team, Workspace& space,
                                     Tensor x) const {
  join_neighbours(batch, team, space, x);
  engine::for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* const of_position = position.view.row(batch.positions[t]);
      const float* const of_type = type.view.row(batch.type_ids[t]);
      float* const row = x.row(t);
      for (int64_t j = 0; j < x.columns; ++j) row[j] += of_position[j] + of_type[j];
    }
  });
  engine::layer_norm(team, x, *norm, x);
}

}  // namespace bert::models
