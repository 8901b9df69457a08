// SPDX-License-Identifier: Apache-2.0
//
// From tokens to words, and to the parts of a text that they stand for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// Whether token t > 0 belongs to the same word as the token before it.
bool is_same_word(const Tokenizer& tokenizer, const Encoding& encoding, int64_t t);

// The part of a text at an offset.
std::string cut(std::string_view text, Offset offset);

// The offset without the white space at either end, as a SentencePiece token includes the space
// before it. {end, end} where there is nothing else.
Offset without_spaces(std::string_view text, Offset offset);

// Joins neighbouring words of one entity (Ramshaw and Marcus 1995): B-KIND begins one, I-KIND
// continues it; labels of another form continue as long as they stay the same. O is no entity.
std::vector<Span> entities_of(const std::vector<Span>& words, const Input& input);

}  // namespace bert::models
