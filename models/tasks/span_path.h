// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/bert_infer.h"
#include "models/config/extraction/span_tags.h"

namespace bert::models {

// Some rows of a model's logits [T, C].
struct LogitRows {
  const Output& logits;
  int64_t begin, end;
};

// The labels of the most probable sequence that marks whole spans (Viterbi 1967), one for each row.
// begins, ends: whether the rows begin and end with the text; a span may reach beyond a window.
std::vector<int> best_path(const SpanTags& tags, LogitRows rows, bool begins, bool ends);

}  // namespace bert::models
