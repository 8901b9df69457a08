// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/config/extraction/span_settings.h"
#include "models/network/extraction/entity_states.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Whether an entity of each label begins, ends or goes on with each word (Stepanov and Shtopko
// 2024, "GLiNER multi-task"). A word and a label each have two states; a hidden layer reads
// (word 1 | label 1 | word 2 * label 2), of which the first two parts are computed once for each
// word and each label.
class TokenScores {
 public:
  TokenScores(Checkpoint& checkpoint, const SpanSettings& settings, const engine::Product& f32,
              engine::Team& team);

  // take: with the logits [words * labels, 3] of a beginning, an end and an inside; those of word 0
  // with every label come first.
  void run(engine::Team& team, const EntityStates& states, const TakeScores& take) const;

 private:
  struct Parts {                              // of one sequence
    engine::ConstTensor words, labels;        // [W, 2 D] and [C, 2 D]: both states of each
    engine::ConstTensor of_words, of_labels;  // [W, 4 D] and [C, 4 D]: parts of the hidden layer
  };
  void score(engine::Team& team, const Parts& parts, engine::Tensor logits) const;
  engine::Tensor first_part(engine::Team& team, engine::ConstTensor projected,
                            const engine::Linear& hidden, engine::Buffer& to) const;

  int64_t width_;                      // D
  engine::Linear word_, label_;        // [2 D, D]
  engine::Linear output_;              // [3, 4 D]
  std::vector<engine::Linear> parts_;  // of the hidden layer, for its three inputs [4 D, D]
};

}  // namespace bert::models
