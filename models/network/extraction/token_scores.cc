// SPDX-License-Identifier: Apache-2.0
#include "models/network/extraction/token_scores.h"

#include <algorithm>

#include "engine/rows/rows.h"
#include "models/network/build/build_parts.h"
#include "models/network/extraction/input_parts.h"

namespace bert::models {

using engine::Activation;
using engine::ConstTensor;
using engine::Tensor;

TokenScores::TokenScores(Checkpoint& checkpoint, const SpanSettings& settings,
                         const engine::Product& f32, engine::Team& team)
    : width_(settings.width),
      word_(read_linear(checkpoint, {{"scorer.proj_token"}, 2 * width_, width_}, Activation::none,
                        f32, team)),
      label_(read_linear(checkpoint, {{"scorer.proj_label"}, 2 * width_, width_}, Activation::none,
                         f32, team)),
      output_(read_linear(checkpoint, {{"scorer.out_mlp.3"}, 3, kHiddenFactor * width_},
                          Activation::none, f32, team)),
      parts_(read_input_parts(checkpoint, "scorer.out_mlp.0", kHiddenFactor * width_, width_, 3,
                              f32, team)) {}

// A few words at a time, with all labels, whose hidden layer stays in cache.
void TokenScores::score(engine::Team& team, const Parts& parts, Tensor logits) const {
  const int64_t words = parts.words.rows, labels = parts.labels.rows;
  const int64_t hidden_width = kHiddenFactor * width_;
  const int64_t at_a_time = std::max<int64_t>(1, 256 / labels);
  engine::Buffer products, hidden, scratch;
  for (int64_t from = 0; from < words; from += at_a_time) {
    const int64_t rows = std::min(at_a_time, words - from) * labels;
    const Tensor both = products.tensor(rows, width_), sums = hidden.tensor(rows, hidden_width);
    for (int64_t i = 0; i < rows; ++i) {
      const float* word = parts.words.row(from + i / labels) + width_;
      const float* label = parts.labels.row(i % labels) + width_;
      for (int64_t j = 0; j < width_; ++j) both.row(i)[j] = word[j] * label[j];
    }
    parts_[2].run(team, both, scratch, sums);
    engine::for_row_blocks(team, rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* word = parts.of_words.row(from + i / labels);
        const float* label = parts.of_labels.row(i % labels);
        float* const to = sums.row(i);
        for (int64_t j = 0; j < hidden_width; ++j) {
          to[j] = std::max(to[j] + (word[j] + label[j]), 0.0f);
        }
      }
    });
    output_.run(team, sums, scratch, {logits.row(from * labels), rows, logits.columns});
  }
}

// hidden(the first D columns of the projected states)
Tensor TokenScores::first_part(engine::Team& team, ConstTensor projected,
                               const engine::Linear& hidden, engine::Buffer& to) const {
  engine::Buffer firsts, scratch;
  const Tensor x = firsts.tensor(projected.rows, width_);
  for (int64_t i = 0; i < x.rows; ++i) std::copy_n(projected.row(i), width_, x.row(i));
  const Tensor y = to.tensor(x.rows, hidden.columns());
  hidden.run(team, x, scratch, y);
  return y;
}

void TokenScores::run(engine::Team& team, const EntityStates& states,
                      const TakeScores& take) const {
  engine::Buffer words, labels, of_words, of_labels, scratch, scores;
  const Tensor word = words.tensor(states.words.rows, 2 * width_);
  const Tensor label = labels.tensor(states.labels.rows, 2 * width_);
  word_.run(team, states.words, scratch, word);
  label_.run(team, states.labels, scratch, label);
  const Tensor word_part = first_part(team, word, parts_[0], of_words);
  const Tensor label_part = first_part(team, label, parts_[1], of_labels);
  for (int64_t i = 0; i < states.sequences(); ++i) {
    const int64_t count = states.words_of(i), named = states.labels_of(i);
    const Tensor logits = scores.tensor(count * named, 3);
    if (count > 0) {
      const auto rows = [](Tensor of, int64_t from, int64_t number) {
        return ConstTensor{of.row(from), number, of.columns};
      };
      const int32_t first = states.word_starts[i], first_label = states.label_starts[i];
      score(team,
            {rows(word, first, count), rows(label, first_label, named),
             rows(word_part, first, count), rows(label_part, first_label, named)},
            logits);
    }
    take(i, logits);
  }
}

}  // namespace bert::models
