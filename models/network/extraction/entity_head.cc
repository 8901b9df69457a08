// SPDX-License-Identifier: Apache-2.0
#include "models/network/extraction/entity_head.h"

#include <algorithm>

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Tensor;

namespace {

std::variant<SpanScores, TokenScores> read_scores(Checkpoint& checkpoint,
                                                  const SpanSettings& settings,
                                                  const engine::Product& f32, engine::Team& team) {
  if (settings.by_word) return TokenScores(checkpoint, settings, f32, team);
  return SpanScores(checkpoint, settings, f32, team);
}

}  // namespace

EntityHead::EntityHead(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
                       engine::Team& team)
    : scores_(read_scores(checkpoint, *config.spans, f32, team)) {
  const int64_t width = config.spans->width;
  if (width != config.output) {
    projection_.emplace(read_linear(checkpoint,
                                    {{"token_rep_layer.projection"}, width, config.output},
                                    engine::Activation::none, f32, team));
  }
  if (const int64_t layers = config.spans->lstm_layers; layers > 0) {
    lstm_.emplace(checkpoint, "rnn.lstm", layers, width, f32, team);
  }
}

Tensor EntityHead::gather(engine::Team& team, Tensor x, std::span<const int32_t> rows,
                          engine::Buffer& to) const {
  engine::Buffer gathered, scratch;
  const Tensor states = (projection_ ? gathered : to).tensor(std::ssize(rows), x.columns);
  for (int64_t i = 0; i < states.rows; ++i) std::copy_n(x.row(rows[i]), x.columns, states.row(i));
  if (!projection_) return states;
  const Tensor y = to.tensor(states.rows, projection_->columns());
  projection_->run(team, states, scratch, y);
  return y;
}

void EntityHead::run(engine::Team& team, Tensor x, const EntityTokens& tokens,
                     const TakeScores& take) const {
  engine::Buffer of_words, of_labels;
  const Tensor words = gather(team, x, tokens.words, of_words);
  const Tensor labels = gather(team, x, tokens.labels, of_labels);
  if (lstm_) lstm_->run(tokens.word_starts, team, words);
  const EntityStates states{words, labels, tokens.word_starts, tokens.label_starts};
  std::visit([&](const auto& scores) { scores.run(team, states, take); }, scores_);
}

}  // namespace bert::models
