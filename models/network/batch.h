// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/bert_infer.h"
#include "models/config/config.h"

namespace bert::models {

// Sequences laid end to end, never padded. Sequence i owns tokens [starts[i], starts[i + 1]).
struct Batch {
  std::vector<int32_t> ids, type_ids, positions;  // [T]
  std::vector<int32_t> starts = {0};              // [N + 1]
  // [N]: how many of a sequence's first tokens can be attended to; empty: all.
  std::vector<int32_t> attended = {};

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t pairs() const;  // pairs of tokens of the same sequence: the sum of S * S
};

// Throws if an encoding does not fit the model: it is empty or longer than the model's positions,
// ids and type_ids differ in length, or an id or type id is out of range. index: the input's, for
// the message.
void check_encoding(const Encoding& encoding, int64_t index, const Config& config);

// Throws if the token whose state a classifier reads is missing.
void check_end(const Encoding& encoding, int64_t index, const Config& config);

// Throws if all of the encoding's tokens are unattended, or so many that some token could attend to
// nothing.
void check_unattended(const Encoding& encoding, int64_t index, const Config& config);
// batch.attended, for the encodings in `order`.
std::vector<int32_t> attended_tokens(std::span<const Encoding> encodings,
                                     std::span<const int64_t> order);

// The encodings with the indices in `order`, in that order.
Batch make_batch(std::span<const Encoding> encodings, std::span<const int64_t> order,
                 const Config& config);

// The indices of the encodings, grouped into batches of at most `batch_tokens` tokens (or a single
// longer input). Longest first, so that inputs of similar length share a batch and a workspace
// reaches its final size with the first.
std::vector<std::vector<int64_t>> plan_batches(std::span<const Encoding> encodings,
                                               int64_t batch_tokens);

}  // namespace bert::models
