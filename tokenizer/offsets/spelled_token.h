// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// How many white space characters a token's string begins and ends with.
struct Blanks {
  int32_t leading = 0, trailing = 0;
};
Blanks blanks_of(std::string_view text);

// A token whose string is not the vocabulary's but the part of the text that it stands for.
struct SpelledToken {
  size_t index;
  Blanks blanks;
  std::string string;  // if asked for
};

// What truncation from the left, the trimming of offsets and whoever looks for words need to know
// about a text's tokens, if asked for.
struct TokenNotes {
  bool of_words = false, of_spelling = false, of_strings = false;  // what is asked for
  std::vector<size_t> words, added;   // where each word begins; the added tokens
  std::vector<SpelledToken> spelled;  // in order

  void clear() {
    words.clear();
    added.clear();
    spelled.clear();
  }
  void word(size_t index) {
    if (of_words) words.push_back(index);
  }
  void spell(size_t index, std::string_view text) {
    if (!of_spelling && !of_strings) return;
    spelled.push_back({index, blanks_of(text), of_strings ? std::string(text) : std::string()});
  }
};

}  // namespace bert::tokenizer
