// SPDX-License-Identifier: Apache-2.0
//
// How many tokens of a text, or of each of a pair, to keep if not all fit.
#pragma once

#include <cstddef>

namespace bert::tokenizer {

// Hugging Face's longest_first truncation: the longer text is cut, to the shorter one's size at
// most; if that is not enough, each gets half the room, and an odd token goes to the longer text
// (the second if they are equally long). In transformers' Python tokenizers, first_gets_odd.
void longest_first(size_t room, size_t& first, size_t& second, bool first_gets_odd = false);

}  // namespace bert::tokenizer
