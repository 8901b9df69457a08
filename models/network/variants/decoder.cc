// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/decoder.h"

#include <cstdint>

#include "models/network/bert.h"
#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Buffer;
using engine::Tensor;

CrossAttention::CrossAttention(Checkpoint& checkpoint, const std::string& layer,
                               const Config& config, const engine::Product& product,
                               engine::Team& team)
    : query(read_linear(checkpoint,
                        {{layer + config.family->layer.cross_query}, config.hidden, config.hidden},
                        Activation::none, product, team)),
      key_value(read_linear(
          checkpoint,
          {{layer + config.family->layer.cross_key, layer + config.family->layer.cross_value},
           config.hidden,
           config.hidden},
          Activation::none, product, team)),
      output(read_linear(
          checkpoint, {{layer + config.family->layer.cross_output}, config.hidden, config.hidden},
          Activation::none, product, team)),
      norm(read_norm(checkpoint, layer + config.family->layer.cross_norm, config.hidden, config)) {}

void CrossAttention::prefetch_in_turn(const engine::Linear& next) {
  query.set_prefetch_target(key_value);
  key_value.set_prefetch_target(output);
  output.set_prefetch_target(next);
}

Decoder::Decoder(Checkpoint& checkpoint, const Config& config)
    : first_layer(config.first_decoder_layer),
      start_token_(config.decoder_start),
      position_(checkpoint.finite_matrix(config.family->decoder.positions,
                                         config.first_position + config.positions, config.hidden)),
      norm_(read_norm(checkpoint, config.family->decoder.norm, config.hidden, config)) {}

void Decoder::embed(const Batch& batch, const Embeddings& of_encoder, engine::Team& team,
                    Tensor x) const {
  std::vector<int32_t> ids(batch.ids.size());
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    const int32_t begin = batch.starts[i], end = batch.starts[i + 1];
    ids[begin] = start_token_;
    for (int32_t t = begin + 1; t < end; ++t) ids[t] = batch.ids[t - 1];
  }
  engine::embedding_sum(team, {of_encoder.word.view, position_.view, of_encoder.type.view}, ids,
                        batch.positions, batch.type_ids, x);
  engine::layer_norm(team, x, norm_, x);
}

void Encoder::begin_decoder(const Batch& batch, engine::Team& team, Workspace& space,
                            Tensor x) const {
  copy(team, x, space.kept);
  decoder->embed(batch, embeddings, team, x);
}

// Attention to the encoder's output, space.kept [T, H], for sequences of about rows_at_a_time
// tokens at a time.
void Layer::attend_to_encoder(const Pass& pass, int64_t rows_at_a_time, Tensor x) const {
  const auto& [batch, team, space, before] = pass;
  const Tensor encoded = {space.kept.data(), x.rows, x.columns};
  const Tensor context = space.context.tensor(x.rows, x.columns);
  before(cross->query, x);
  before(cross->key_value, encoded);
  const auto project = [&](int64_t row, std::span<const int32_t>, Tensor states) {
    const auto rows_of = [&](Tensor of) { return Tensor{of.row(row), states.rows, of.columns}; };
    Buffer& scratch = pass.space.scratch;
    cross->query.run_columns(pass.team, rows_of(x), scratch, states, 0);
    cross->key_value.run_columns(pass.team, rows_of(encoded), scratch, states, x.columns);
  };
  attend_by_groups(pass, {.heads = heads, .precision = precision}, rows_at_a_time, 3 * x.columns,
                   project, context);
  before(cross->output, context);
  cross->output.run_add(team, context, space.scratch, x);
  engine::layer_norm(team, x, cross->norm, x);
}

}  // namespace bert::models
