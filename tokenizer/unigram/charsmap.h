// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// What a SentencePiece model makes of characters before it looks for pieces: a trie of strings in
// UTF-8 and, for each, its replacement ("precompiled_charsmap").
class Charsmap {
 public:
  // blob: the size of the trie in four bytes, the trie in Darts' units of four bytes each, little
  // endian, and the replacements, each with a NUL at its end. Throws where it is not that.
  explicit Charsmap(std::string_view blob);

  // The replacement of the shortest key that `bytes` begins with, as Hugging Face's tokenizers take
  // it; false where there is none. Whatever the trie holds, nothing outside it is read.
  bool find(std::string_view bytes, std::u32string_view& replacement) const;
  // Whether find() finds nothing for an ASCII character.
  bool keeps(char32_t ascii) const { return keeps_[ascii]; }

 private:
  std::vector<uint32_t> units_;
  std::vector<uint32_t> starts_;  // by byte of the replacements: the scalar that begins there
  std::u32string scalars_;        // of the replacements
  std::vector<bool> keeps_;
};

}  // namespace bert::tokenizer
