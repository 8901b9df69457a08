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
  std::vector<int32_t> starts;                    // [N + 1]

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t sequences() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t pairs() const;  // of tokens of a sequence: the sum of S * S
};

// Throws where an encoding does not fit the model: empty, longer than its positions, type_ids of
// another length, an id or type id out of range. `index` is the input's, for the message.
void check_encoding(const Encoding& encoding, int64_t index, const Config& config);

// The encodings that `order` names, in that order.
Batch make_batch(std::span<const Encoding> encodings, std::span<const int64_t> order,
                 const Config& config);

// A few inputs of tokens from everywhere in the vocabulary, always the same of a model, between the
// special tokens that two empty texts are encoded as.
Batch example_batch(std::span<const int32_t> empty_ids, std::span<const int32_t> empty_type_ids,
                    const Config& config);

// Indices of the encodings grouped into batches: longest first (so that neighbours are of like
// length and a workspace has its final size after the first), as many as stay within
// `batch_tokens`, at least one.
std::vector<std::vector<int64_t>> plan_batches(std::span<const Encoding> encodings,
                                               int64_t batch_tokens);

}  // namespace bert::models
