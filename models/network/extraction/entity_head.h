// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/extraction/lstm.h"
#include "models/network/extraction/span_scores.h"
#include "models/network/extraction/token_scores.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Which tokens of a batch are its words' first ones and its labels'. Those of sequence i are
// [word_starts[i], word_starts[i + 1]) and [label_starts[i], label_starts[i + 1]).
struct EntityTokens {
  std::vector<int32_t> words, labels;  // rows of the last hidden state
  std::vector<int32_t> word_starts = {0}, label_starts = {0};
};

// GLiNER's head: how well each label fits each span of words (Zaratiana et al. 2023) or each word
// (Stepanov and Shtopko 2024).
class EntityHead {
 public:
  EntityHead(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
             engine::Team& team);

  // x: the last hidden state [T, H]. Calls take() for each sequence, with what SpanScores or
  // TokenScores gives for it.
  void run(engine::Team& team, engine::Tensor x, const EntityTokens& tokens,
           const TakeScores& take) const;

 private:
  // The rows of x, projected to D.
  engine::Tensor gather(engine::Team& team, engine::Tensor x, std::span<const int32_t> rows,
                        engine::Buffer& to) const;

  std::optional<engine::Linear> projection_;  // [D, H], unless the two are equal
  std::optional<Lstm> lstm_;                  // over the words
  std::variant<SpanScores, TokenScores> scores_;
};

}  // namespace bert::models
