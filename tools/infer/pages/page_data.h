// SPDX-License-Identifier: Apache-2.0
//
// What the pages of bert-infer show of one input, and of the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"

namespace bert::tools {

// Numbers from 0 to 1 in thousandths, two digits of base 36 each: "rs" is 1.
std::string packed_shares(std::span<const float> values);

// {"text": the ids decoded, "tokens": [{"text", "id", "segment"}]}
nlohmann::ordered_json page_tokens(const bert::Tokenizer& tokenizer,
                                   const bert::Encoding& encoding);

// The above and "layers": [{"layer", "heads": [packed_shares of [S, S]], "sums": [{"self", "first",
// "last", "other"}]}], where the sums are shares of each head's attention: to the token itself, the
// first and the last token, and the other text. layers: those of the attention, which may count
// from the end.
nlohmann::ordered_json attention_page(const bert::Model& model, const bert::Encoding& encoding,
                                      const bert::Attention& attention,
                                      std::span<const int> layers);

// The above and, with 4 digits, "word" [S, E], "position" [S, E] or null, "segments" {"0": [E]} or
// null, "normed" [S, E]; "rows" [S] of the position table; "projected".
nlohmann::ordered_json embedding_page(const bert::Model& model, const bert::Encoding& encoding);

// {"kind": "learned", ...}, and if positions are added to tokens also their "count"; "step": of
// every step-th there are "similarities": packed_shares of (1 + cosine) / 2 for each pair i <= j,
// by rows.
nlohmann::ordered_json position_similarities(const bert::Model& model);

}  // namespace bert::tools
