// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/config/extraction/span_settings.h"
#include "models/network/extraction/entity_states.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// How well each label fits each span of words (Zaratiana et al. 2023, section 2.2).
//
// The paper represents a span of words i to j as FFN(start(i) | end(j)), with a hidden layer, and
// multiplies that with a label's state. Here the hidden layer's two halves are computed once for
// each word, and the output layer is multiplied with the labels, so that a span takes no more than
// an addition and a product with as many rows as there are labels.
class SpanScores {
 public:
  SpanScores(Checkpoint& checkpoint, const SpanSettings& settings, const engine::Product& f32,
             engine::Team& team);

  // take: with the logits [spans, labels] of the spans that begin with word 0 by ascending width,
  // then those with word 1, ...
  void run(engine::Team& team, const EntityStates& states, const TakeScores& take) const;

 private:
  // output(relu(hidden(x))), with a hidden layer of 4 D.
  struct TwoLayers {
    engine::Linear hidden, output;
    engine::Tensor run(engine::Team& team, engine::ConstTensor x, engine::Buffer& to) const;
  };
  static TwoLayers read_two(Checkpoint& checkpoint, const std::string& name, int64_t width,
                            engine::Activation last, const engine::Product& f32,
                            engine::Team& team);
  struct Spans;  // of one sequence
  void score(engine::Team& team, const Spans& spans, engine::Tensor logits) const;

  int64_t width_, widest_;          // D, K
  const engine::Product* product_;  // f32
  TwoLayers start_, end_, label_;
  std::vector<engine::Linear> halves_;  // of a span's hidden layer, for its two ends [4 D, D]
  engine::Linear output_;               // its output layer, transposed [4 D, D]
  engine::Buffer output_bias_;          // [D]
};

}  // namespace bert::models
