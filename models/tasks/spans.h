// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// The scalars of a text from begin to end.
std::string cut(std::string_view text, Offset offset);

// The offset without the white space at its ends: a SentencePiece token holds the space before it.
// {end, end} where there is nothing else.
Offset without_spaces(std::string_view text, Offset offset);

// Neighbouring words of one kind, joined (Ramshaw and Marcus 1995): B- begins, I- goes on; labels
// of another form go on while they stay the same. O stands for none.
std::vector<Span> entities_of(const std::vector<Span>& words, const Input& input);

}  // namespace bert::models
