// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/sparse_head.h"

#include <algorithm>
#include <cmath>

namespace bert::models {
namespace {

using engine::ConstTensor;
using engine::Tensor;

// Tokens whose logits are in memory at the same time: enough that reading the vocabulary's vectors
// costs little beside multiplying with them.
constexpr int64_t kLogitRows = 192;
constexpr int64_t kLogitColumns = 1024;  // of logits that a thread takes at a time

// A NaN stays one.
float greater(float a, float b) { return a < b || b != b ? b : a; }

float log_weight(float logit, bool is_log_twice) {
  if (logit <= 0) return 0;
  const float weight = std::log1p(logit);
  return is_log_twice ? std::log1p(weight) : weight;
}

// Takes the logits of one sequence's tokens into its weights: their maximum, or the sum of their
// logarithms, token after token.
void take(ConstTensor logits, const SpladeSettings& splade, engine::Team& team,
          std::span<float> weights) {
  const int64_t columns = logits.columns;
  team.run(engine::divide_up(columns, kLogitColumns), [&](int64_t part, int) {
    const int64_t first = part * kLogitColumns, end = std::min(columns, first + kLogitColumns);
    for (int64_t t = 0; t < logits.rows; ++t) {
      const float* row = logits.row(t);
      if (splade.sums) {
        for (int64_t j = first; j < end; ++j) {
          weights[j] += log_weight(row[j], splade.is_log_twice);
        }
      } else {
        for (int64_t j = first; j < end; ++j) weights[j] = greater(weights[j], row[j]);
      }
    }
  });
}

}  // namespace

void SparseHead::run(const Batch& batch, ConstTensor x, const Head* mlm, int64_t vocabulary,
                     engine::Team& team, Workspace& space, const Consume& consume) const {
  const Tensor row = space.pooled.tensor(1, vocabulary);
  const std::span<float> weights(row.data, static_cast<size_t>(vocabulary));
  if (is_splade()) {
    weigh_vocabulary(batch, x, *mlm, weights, team, space, consume);
  } else {
    weigh_tokens(batch, x, weights, team, space, consume);
  }
}

// The logarithm grows with the logit, so that of the greatest is the greatest.
void SparseHead::weigh_vocabulary(const Batch& batch, ConstTensor x, const Head& mlm,
                                  std::span<float> weights, engine::Team& team, Workspace& space,
                                  const Consume& consume) const {
  int64_t i = 0;  // the sequence
  std::ranges::fill(weights, 0.0f);
  for (int64_t first = 0; first < x.rows; first += kLogitRows) {
    const int64_t count = std::min(kLogitRows, x.rows - first);
    const Tensor logits = mlm.run(team, {x.row(first), count, x.columns}, space);
    for (int64_t row = 0; row < count;) {
      const int64_t end = std::min<int64_t>(count, batch.starts[i + 1] - first);
      take({logits.row(row), end - row, logits.columns}, *splade_, team, weights);
      row = end;
      if (first + row < batch.starts[i + 1]) continue;
      if (!splade_->sums) {
        for (float& weight : weights) weight = log_weight(weight, splade_->is_log_twice);
      }
      consume(i++, weights);
      std::ranges::fill(weights, 0.0f);
    }
  }
}

void SparseHead::weigh_tokens(const Batch& batch, ConstTensor x, std::span<float> weights,
                              engine::Team& team, Workspace& space, const Consume& consume) const {
  const Tensor by_token = space.transformed.tensor(x.rows, 1);
  token_weight_->run(team, x, space.scratch, by_token);
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    std::ranges::fill(weights, 0.0f);
    for (int64_t t = batch.starts[i]; t < batch.starts[i + 1]; ++t) {
      float& weight = weights[batch.ids[t]];
      weight = greater(weight, *by_token.row(t));
    }
    for (const int32_t id : ignored_) weights[id] = 0;
    consume(i, weights);
  }
}

}  // namespace bert::models
