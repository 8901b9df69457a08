// SPDX-License-Identifier: Apache-2.0
//
// Zero-shot classification by a model of entailment, as Hugging Face's pipeline computes it (Yin et
// al. 2019): the parts that the library's function and bert-serve's route share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// The first label of a classifier with several that begins with "entail", in any case.
std::optional<int> find_entailment(const Info& info);

// Replaces {} by the label. Throws Error unless there is exactly one {}, and no other brace.
std::string hypothesis(const std::string& form, const std::string& label);

// Scores of rows [first, first + count) of logits [N, C], one per label. each: judged by itself.
std::vector<float> entailment_scores(const Output& logits, int64_t first, int64_t count,
                                     int entailment, bool each);

}  // namespace bert::models
