// SPDX-License-Identifier: Apache-2.0
//
// Fills in masked tokens, like Hugging Face's fill-mask pipeline.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/tasks/logits.h"

namespace bert {
namespace {

using engine::Tensor;
using models::Batch;
using models::guarded;

// The k most probable tokens, the lowest id first among equals.
std::vector<Blank::Fill> best_fills(std::span<const float> logits, int k,
                                    const tokenizer::TextEncoder& text_encoder) {
  const std::vector<float> scores = models::softmax(logits);
  std::vector<Blank::Fill> fills;
  for (const int64_t best : top_k(scores, k)) {
    const auto id = static_cast<int32_t>(best);
    // Not every id has a token: some rows of the embeddings may be padding.
    fills.push_back(
        {id, text_encoder.has(id) ? text_encoder.token(id) : std::string(), scores[id]});
  }
  return fills;
}

}  // namespace

std::vector<std::vector<Blank>> Model::Impl::fill_mask(std::span<const Encoding> encodings,
                                                       int k) const {
  check_task(Task::fill_mask);
  if (k < 1) throw Error(fmt::format("k is {}, expected at least 1", k));
  const int32_t mask = tokenizer.mask_id();
  if (mask < 0) throw Error("the tokenizer has no mask token");
  std::vector<std::vector<Blank>> output(encodings.size());
  for_batches(
      encodings, engine::Reads::all,
      [&](const Batch& batch, const auto& order, Tensor x, engine::Team& team, Workspace& space) {
        std::vector<std::pair<size_t, int64_t>> masks;  // the input and its token
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < batch.sequences(); ++i) {
          for (int64_t t = batch.starts[i]; t < batch.starts[i + 1]; ++t) {
            if (batch.ids[t] != mask) continue;
            masks.emplace_back(order[i], t - batch.starts[i]);
            rows.push_back(t);
          }
        }
        const Tensor masked = space.rows.tensor(std::ssize(rows), x.columns);
        for (int64_t i = 0; i < masked.rows; ++i) {
          std::copy_n(x.row(rows[i]), x.columns, masked.row(i));
        }
        models::run_in_parts(*token_head, team, masked, space,
                             [&](int64_t first, engine::ConstTensor logits) {
                               for (int64_t i = 0; i < logits.rows; ++i) {
                                 const auto& [input, token] = masks[first + i];
                                 const std::span<const float> row(logits.row(i), logits.columns);
                                 check_answer(input, row);
                                 output[input].push_back(
                                     {.token = static_cast<int32_t>(token),
                                      .fills = best_fills(row, k, tokenizer.impl_->text_encoder)});
                               }
                             });
      });
  return output;
}

std::vector<std::vector<Blank>> Model::fill_mask(std::span<const Encoding> encodings, int k) const {
  return guarded([&] { return impl_->fill_mask(encodings, k); });
}
std::vector<std::vector<Blank>> Model::fill_mask(std::span<const Input> inputs, int k) const {
  return guarded([&] { return impl_->fill_mask(impl_->tokenize(inputs), k); });
}

}  // namespace bert
