// SPDX-License-Identifier: Apache-2.0
//
// What runs on the last hidden state: the pooler and the heads.
#pragma once

#include <cstdint>
#include <optional>

#include "models/network/bert.h"

namespace bert::models {

// A dense layer with tanh on each sequence's first token ([CLS]).
struct Pooler {
  Pooler(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
         engine::Team& team);
  // first: [N, H]. Returns [N, H] in space.pooled.
  engine::Tensor run(engine::Team& team, engine::ConstTensor first, Workspace& space) const;

  engine::Linear dense;  // [H, H]
};

// logits = output(norm(activation(transform(x)))) for each row of x [R, H]. row.reads defines which
// rows those are. Some heads widen x first, with the same activation.
struct Head {
  // embeddings: the encoder's, whose table a masked language model's output shares.
  Head(Checkpoint& checkpoint, const Config& config, const HeadRow& row,
       const Embeddings& embeddings, const engine::Product& f32, engine::Team& team);
  // Returns [R, C] in space.logits.
  engine::Tensor run(engine::Team& team, engine::ConstTensor x, Workspace& space) const {
    return scores(team, transformed(team, x, space), space);
  }
  // The last step alone.
  engine::Tensor scores(engine::Team& team, engine::ConstTensor x, Workspace& space) const;
  // norm(activation(transform(x))), in space.transformed, or x if there is no transform.
  engine::ConstTensor transformed(engine::Team& team, engine::ConstTensor x,
                                  Workspace& space) const;
  engine::Tensor widened(engine::Team& team, engine::ConstTensor x, Workspace& space) const;
  int64_t columns() const { return output ? output->columns() : decoder.rows; }

  const HeadRow& row;
  const engine::Product& product;           // f32
  std::optional<engine::Linear> widen;      // [W, H]
  std::optional<engine::Linear> transform;  // [H, H] or [D, H], the activation fused
  std::optional<engine::Norm> norm;
  std::optional<engine::Linear> output;  // [C, H]; a masked language model has a decoder instead
  engine::Table decoder;                 // [V, D]: the word embeddings or own_decoder
  WeightTable own_decoder;
  engine::Buffer decoder_floats;  // of one that is stored as f16, or of which parts are joined
  engine::Buffer decoder_bias;    // [V]
};

}  // namespace bert::models
