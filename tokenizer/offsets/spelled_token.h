// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bert::tokenizer {

// How many white space characters a token's string begins and ends with.
struct Blanks {
  int32_t leading = 0, trailing = 0;
};
Blanks blanks_of(std::string_view text);

// A token of a text whose string is not the vocabulary's, but what of the text it stands for.
struct SpelledToken {
  size_t index;
  Blanks blanks;
};

}  // namespace bert::tokenizer
