// SPDX-License-Identifier: Apache-2.0
//
// Weights of the vocabulary: SPLADE's, from a masked language model's logits, or BGE-M3's, for the
// tokens that an input has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/config/retrieval/retrieval_settings.h"
#include "models/network/heads.h"

namespace bert::models {

class SparseHead {
 public:
  explicit SparseHead(const SpladeSettings& settings) : splade_(settings) {}
  // token_weight: [1, H]. ignored: ids that get no weight.
  SparseHead(engine::Linear token_weight, std::vector<int32_t> ignored)
      : token_weight_(std::move(token_weight)), ignored_(std::move(ignored)) {}

  bool is_splade() const { return splade_.has_value(); }
  // Calls consume(i, weights [V]) for each sequence in turn. x: the last hidden state, [T, H]. mlm:
  // the head of the masked language model, for SPLADE. Rows of V floats are in memory only for a
  // few sequences at a time, never for each token.
  using Consume = std::function<void(int64_t i, std::span<float> weights)>;
  void run(const Batch& batch, engine::ConstTensor x, const Head* mlm, int64_t vocabulary,
           engine::Team& team, Workspace& space, const Consume& consume) const;

 private:
  void weigh_vocabulary(const Batch& batch, engine::ConstTensor x, const Head& mlm,
                        engine::Team& team, Workspace& space, const Consume& consume) const;
  void weigh_tokens(const Batch& batch, engine::ConstTensor x, std::span<float> weights,
                    engine::Team& team, Workspace& space, const Consume& consume) const;

  std::optional<SpladeSettings> splade_;
  std::optional<engine::Linear> token_weight_;
  std::vector<int32_t> ignored_;
};

}  // namespace bert::models
