// SPDX-License-Identifier: Apache-2.0
//
// What is read off the last hidden state.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/network/bert.h"

namespace bert::models {

// tanh of a dense layer on each sequence's first token ([CLS]), first [N, H].
struct Pooler {
  Pooler(Checkpoint& checkpoint, const Config& config, engine::ThreadPool& pool);
  // [N, H], in space.pooled.
  engine::Tensor run(engine::ThreadPool& pool, engine::ConstTensor first, Workspace& space) const;

  engine::Linear dense;  // [H, H]
};

// logits = output(norm(activation(transform(x)))), of rows x [R, H] as row.reads says.
struct Head {
  // embeddings: those of the encoder, which a masked language model's output shares.
  Head(Checkpoint& checkpoint, const Config& config, const HeadRow& row,
       const Embeddings& embeddings, engine::ThreadPool& pool);
  // [R, C], in space.logits.
  engine::Tensor run(engine::ThreadPool& pool, engine::ConstTensor x, Workspace& space) const;
  int64_t columns() const { return output ? output->columns() : decoder.rows; }

  const HeadRow& row;
  std::optional<engine::Linear> transform;  // [H, H] or [E, H], the activation fused
  std::optional<engine::Norm> norm;
  std::optional<engine::Linear> output;  // [C, H], or instead
  engine::ConstTensor decoder;           // [V, E]
  Weight own_decoder;                    // where it is not the table of word embeddings
  engine::Buffer decoder_bias;           // [V]
};

// Of at least one logit.
std::vector<float> softmax(std::span<const float> logits);

}  // namespace bert::models
