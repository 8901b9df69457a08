// SPDX-License-Identifier: Apache-2.0
#include "models/network/bert.h"

#include <algorithm>
#include <string>

#include "models/network/pooling.h"

namespace bert::models {

using engine::Precision;
using engine::Reads;
using engine::Tensor;

void Embeddings::run(const Batch& batch, engine::Team& team, Workspace& space, Tensor x) const {
  if (embeds_neighbours) return run_with_neighbours(batch, team, space, x);
  const Tensor sum = projection ? space.embedded.tensor(x.rows, word.view.columns) : x;
  look_up(batch, team, sum);
  if (projection) projection->run(team, sum, space.scratch, x);
}

void Embeddings::look_up(const Batch& batch, engine::Team& team, Tensor sum) const {
  engine::embedding_sum(team, {word.view, position.view, type.view}, batch.ids, batch.positions,
                        batch.type_ids, sum);
  if (dropped_token >= 0) drop_tokens(batch, team, sum);
  if (scale != 1) engine::scale(team, scale, sum);
  if (norm) engine::layer_norm(team, sum, *norm, sum);
}

namespace {

// The starts, in rows of their own, of sequences from `first` on until they have so many tokens.
std::vector<int32_t> starts_of_group(const Batch& batch, int64_t first, int64_t tokens) {
  std::vector<int32_t> starts = {0};
  for (int64_t i = first; i < batch.sequences() && starts.back() < tokens; ++i) {
    starts.push_back(batch.starts[i + 1] - batch.starts[first]);
  }
  return starts;
}

}  // namespace

void Layer::attend_by_groups(const Pass& pass, engine::AttentionOptions options,
                             int64_t rows_at_a_time, int64_t columns, const Project& project,
                             Tensor context) const {
  const auto& [batch, team, space, before] = pass;
  const bool all = options.reads == Reads::all;
  for (int64_t first = 0, row = 0; first < batch.sequences(); row = batch.starts[first]) {
    const std::vector<int32_t> starts = starts_of_group(batch, first, rows_at_a_time);
    const int64_t rows = starts.back(), sequences = std::ssize(starts) - 1;
    const Tensor states = space.wide.tensor(rows, columns);
    project(row, starts, states);
    if (!batch.attended.empty()) {
      options.attended = std::span(batch.attended).subspan(first, sequences);
    }
    const Tensor to = {context.row(all ? row : first), all ? rows : sequences, context.columns};
    if (short_convolution) {
      short_convolution->run(team, states, starts, options, to);
    } else {
      engine::attention(team, states, starts, options, space.scratch, to);
    }
    first += sequences;
  }
}

// Self-attention (Devlin et al. 2019, section 3; with pre_norm Xiong et al. 2020), for sequences of
// about rows_at_a_time tokens at a time. x: [T, H].
Tensor Layer::attend(const Pass& pass, Reads reads, bool probabilities, int64_t rows_at_a_time,
                     Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  const int64_t rows = reads == Reads::all ? x.rows : batch.sequences();
  const Tensor context = space.context.tensor(rows, attention_output.width());
  const Tensor inputs = pre_normed(attention_norm, pass, x);
  before(qkv, inputs);
  const auto project = [&](int64_t row, std::span<const int32_t> starts, Tensor states) {
    const Tensor part = {inputs.row(row), states.rows, inputs.columns};
    qkv.run(pass.team, part, pass.space.scratch, states);  // [rows, 3H]
    norm_and_rotate(starts, pass.team, states);
  };
  attend_by_groups(pass, attention_options(reads, probabilities, space),
                   probabilities ? x.rows : rows_at_a_time, qkv.columns(), project, context);
  if (reads == Reads::first) x = first_rows(batch, x, space);  // [rows, H] from here on
  const Tensor before_attention = residual_norm ? copy(team, x, space.normed) : x;
  before(attention_output, context);
  add_normed(attention_output, attention_post_norm, pass, context, x, {});  // dense + residual
  if (!pre_norm) engine::layer_norm(team, x, *attention_norm, x);
  if (residual_norm) {
    engine::add(team, before_attention, x);
    engine::layer_norm(team, x, *residual_norm, x);
  }
  return x;
}

// The feed-forward network's two products, on at most rows_at_a_time tokens at a time. x: [T, H].
void Layer::run_one_network(const Pass& pass, int64_t rows_at_a_time, Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  for (int64_t first = 0; first < x.rows; first += rows_at_a_time) {
    const Tensor part = {x.row(first), std::min(rows_at_a_time, x.rows - first), x.columns};
    // Slices add to x, of which the next ones read what it was.
    const bool copies = slices > 1 && !pre_norm;
    const Tensor inputs =
        copies ? copy(team, part, space.normed) : pre_normed(output_norm, pass, part);
    for (engine::Linear::Slice slice{0, slices}; slice.index < slices; ++slice.index) {
      const Tensor wide = space.wide.tensor(part.rows, intermediate->columns() / slices);
      before(*intermediate, inputs);
      intermediate->run(team, inputs, space.scratch, wide, slice);  // [rows, I], activation fused
      if (up) {
        before(*up, inputs);
        up->run_multiply(team, inputs, space.scratch, wide, slice);
      }
      before(*output, wide);
      add_normed(*output, output_post_norm, pass, wide, part, slice);  // dense + residual
    }
  }
}

void Layer::feed_forward(const Pass& pass, int64_t rows_at_a_time, Tensor x) const {
  experts ? run_experts(pass, x) : run_one_network(pass, rows_at_a_time, x);
  if (!pre_norm) engine::layer_norm(pass.team, x, *output_norm, x);
}

Tensor Layer::forward(const Pass& pass, Reads reads, bool probabilities, int64_t rows_at_a_time,
                      Tensor x) const {
  if (bottleneck) return run_narrowed(pass, probabilities, rows_at_a_time, x);
  x = attend(pass, reads, probabilities, rows_at_a_time, x);
  if (cross) attend_to_encoder(pass, rows_at_a_time, x);
  feed_forward(pass, rows_at_a_time, x);
  if (layer_inputs) add_layer_inputs(pass, x);
  return x;
}

Tensor Layer::run(const Batch& batch, engine::Team& team, Reads reads, bool probabilities,
                  Workspace& space, Tensor x) const {
  const Pass pass{batch, team, space, [](const engine::Linear&, Tensor) {}};
  return forward(pass, reads, probabilities, qkv.product().rows_at_a_time(team.threads()), x);
}

Tensor Encoder::run(const Batch& batch, engine::Team& team, Reads reads, Workspace& space,
                    const Trace& trace) const {
  Tensor x = space.x.tensor(batch.tokens(), hidden);
  embeddings.run(batch, team, space, x);
  trace("embeddings", x);
  if (convolution || layers.front().layer_inputs) copy(team, x, space.kept);
  for (size_t i = 0; i < order.size(); ++i) {
    const bool probabilities = trace.wants_attention(i);
    if (probabilities) space.probabilities.resize_discarding(batch.pairs() * layers.front().heads);
    if (decoder && i == decoder->first_layer) begin_decoder(batch, team, space, x);
    for (int j = 0; j < layers_per_group; ++j) {
      const bool last = i + 1 == order.size() && j + 1 == layers_per_group && !needs_all_rows();
      x = layers[order[i] + j].run(batch, team, last ? reads : Reads::all,
                                   probabilities && j + 1 == layers_per_group, space, x);
    }
    if (probabilities) {
      trace("attention." + std::to_string(i),
            {space.probabilities.data(), layers.front().heads, batch.pairs()});
    }
    if (convolution && i == 0) convolve(batch, team, space, x);
    if (i + 1 == order.size()) x = finish(batch, team, reads, space, x);
    trace("layer." + std::to_string(i), x);
  }
  return x;
}

}  // namespace bert::models
