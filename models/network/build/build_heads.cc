// SPDX-License-Identifier: Apache-2.0
//
// Builds the pooler and the heads from a checkpoint's tensors.
#include <algorithm>
#include <span>
#include <string>

#include "models/config/texts/logit_score.h"
#include "models/network/build/build_parts.h"
#include "models/network/heads.h"

namespace bert::models {

using engine::Activation;

Pooler::Pooler(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
               engine::Team& team)
    : dense(read_linear(checkpoint, {{config.family->pooler}, config.hidden, config.hidden},
                        Activation::tanh, f32, team)) {}

namespace {

// The row of the decoder for one token, minus that of another if there is one.
engine::Linear read_token_score(Checkpoint& checkpoint, const Config& config,
                                const WeightTable& words, const engine::Product& f32,
                                engine::Team& team) {
  const std::string name = kLogitScore.output;
  const WeightTable own = read_decoder(checkpoint, config, name, words);
  const engine::Table decoder = config.tied ? words.view : own.view;
  engine::Buffer row(config.hidden), room(config.hidden), bias(1);
  std::copy_n(decoder.row(config.score_tokens.front(), room.data()), config.hidden, row.data());
  if (config.score_tokens.size() == 2) {
    const float* const other = decoder.row(config.score_tokens[1], room.data());
    for (int64_t j = 0; j < config.hidden; ++j) row.data()[j] -= other[j];
  }
  const engine::Linear::Part part{{row.data(), 1, config.hidden}, bias.data(), name + ".weight"};
  return engine::Linear(team, std::span(&part, 1), Activation::none, f32);
}

// The word embeddings' columns, and after them those that the head stores transposed.
engine::Tensor join_decoder(Checkpoint& checkpoint, const Config& config, const HeadRow& row,
                            const engine::Table& words, engine::Buffer& to) {
  const int64_t width = config.embedding, more = config.hidden - width;
  const Weight stored =
      checkpoint.finite_matrix(std::string(row.more_columns) + ".weight", more, config.vocabulary);
  const engine::Tensor all = to.tensor(config.vocabulary, config.hidden);
  engine::Buffer room(width);
  for (int64_t i = 0; i < all.rows; ++i) {
    std::copy_n(words.row(i, room.data()), width, all.row(i));
    for (int64_t j = 0; j < more; ++j) all.row(i)[width + j] = stored.view.row(j)[i];
  }
  Checkpoint::release(stored);
  return all;
}

}  // namespace

Head::Head(Checkpoint& checkpoint, const Config& config, const HeadRow& head_row,
           const Embeddings& embeddings, const engine::Product& f32, engine::Team& team)
    : row(head_row), product(f32) {
  if (&row == &kLogitScore) {
    output.emplace(read_token_score(checkpoint, config, embeddings.word, f32, team));
    return;
  }
  const bool masked_lm = row.kind == HeadKind::masked_lm;
  const int64_t width = masked_lm && !*row.more_columns ? config.decoder_width : config.hidden;
  const auto read = [&](const char* name, int64_t outputs, int64_t inputs) {
    return read_linear(checkpoint, {{name}, outputs, inputs, config.has_bias.head},
                       config.head_activations.at(&row), f32, team);
  };
  if (*row.widen) widen.emplace(read(row.widen, config.head_width, config.hidden));
  const int64_t inputs = widen ? config.head_width : config.hidden;
  if (*row.transform) transform.emplace(read(row.transform, width, inputs));
  if (*row.norm) {
    norm.emplace(read_norm(checkpoint, row.norm, width, config));
    norm->normalises = true;  // whatever those of the layers do
  }
  const std::string name = row.output;
  if (!masked_lm) {
    output.emplace(read_linear(checkpoint,
                               {.names = {name},
                                .columns = std::ssize(config.labels_of(row)),
                                .width = config.hidden,
                                .has_bias = row.has_bias,
                                .scale = config.logit_scale},
                               Activation::none, f32, team));
    return;
  }
  own_decoder = read_decoder(checkpoint, config, name, embeddings.word);
  const WeightTable& table = config.tied ? embeddings.word : own_decoder;
  decoder = table.view;
  if (*row.more_columns) {
    decoder = engine::ConstTensor(join_decoder(checkpoint, config, row, decoder, decoder_floats));
    Checkpoint::release(table);
  } else if (decoder.type ==
             engine::FloatType::f16) {  // widening it in each product takes too long
    const engine::Tensor floats = decoder_floats.tensor(decoder.rows, decoder.columns);
    table.stored->copy_to(floats.data);
    decoder = engine::ConstTensor(floats);
    Checkpoint::release(table);
  }
  decoder_bias = read_decoder_bias(checkpoint, config, name + ".bias", row.bias);
}

}  // namespace bert::models
