// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/sparse_head.h"

#include <algorithm>
#include <cmath>

namespace bert::models {
namespace {

using engine::ConstTensor;
using engine::Tensor;

// The most that is weighed together: enough tokens that packing the vocabulary's vectors costs
// little compared with multiplying by them, but few rows of V weights.
constexpr int64_t kTokensTogether = 2048, kSequencesTogether = 32;

// A NaN stays a NaN.
float greater(float a, float b) { return a < b || b != b ? b : a; }

float log_weight(float logit, bool is_log_twice) {
  if (logit <= 0) return 0;
  const float weight = std::log1p(logit);
  return is_log_twice ? std::log1p(weight) : weight;
}

// Merges some columns of one sequence's logits, token by token, into its weights: their maximum, or
// the sum of their logarithms.
void take(ConstTensor logits, const SpladeSettings& splade, float* weights) {
  for (int64_t t = 0; t < logits.rows; ++t) {
    const float* row = logits.row(t);
    if (splade.sums) {
      for (int64_t j = 0; j < logits.columns; ++j) {
        weights[j] += log_weight(row[j], splade.is_log_twice);
      }
    } else {
      for (int64_t j = 0; j < logits.columns; ++j) weights[j] = greater(weights[j], row[j]);
    }
  }
}

// How many sequences to take together, from `first` on.
int64_t sequences_together(std::span<const int32_t> starts, int64_t first) {
  int64_t end = first + 1;
  while (end + 1 < std::ssize(starts) && end - first < kSequencesTogether &&
         starts[end + 1] - starts[first] <= kTokensTogether) {
    ++end;
  }
  return end - first;
}

}  // namespace

void SparseHead::run(const Batch& batch, ConstTensor x, const Head* mlm, int64_t vocabulary,
                     engine::Team& team, Workspace& space, const Consume& consume) const {
  if (is_splade()) return weigh_vocabulary(batch, x, *mlm, team, space, consume);
  const Tensor row = space.pooled.tensor(1, vocabulary);
  weigh_tokens(batch, x, {row.data, static_cast<size_t>(vocabulary)}, team, space, consume);
}

// For a maximum, the monotonic logarithm is taken once, of the greatest logit.
void SparseHead::weigh_vocabulary(const Batch& batch, ConstTensor x, const Head& mlm,
                                  engine::Team& team, Workspace& space,
                                  const Consume& consume) const {
  const auto& starts = batch.starts;
  for (int64_t first = 0, count = 0; first < batch.sequences(); first += count) {
    count = sequences_together(starts, first);
    const int64_t begin = starts[first];
    const ConstTensor rows = {x.row(begin), starts[first + count] - begin, x.columns};
    const Tensor weights = space.pooled.tensor(count, mlm.columns());
    std::fill_n(weights.data, weights.size(), 0.0f);
    const auto take_block = [&](int64_t row, int64_t column, ConstTensor block) {
      const int64_t block_end = begin + row + block.rows;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t from = std::max<int64_t>(starts[first + i], begin + row);
        const int64_t to = std::min<int64_t>(starts[first + i + 1], block_end);
        if (from >= to) continue;
        take({block.row(from - begin - row), to - from, block.columns}, *splade_,
             weights.row(i) + column);
      }
    };
    engine::multiply_in_place(team, mlm.product, mlm.transformed(team, rows, space), mlm.decoder,
                              mlm.decoder_bias.data(), take_block);
    for (int64_t i = 0; i < count; ++i) {
      const std::span<float> of_sequence(weights.row(i), static_cast<size_t>(weights.columns));
      for (float& weight : of_sequence) {
        if (!splade_->sums) weight = log_weight(weight, splade_->is_log_twice);
      }
      consume(first + i, of_sequence);
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
