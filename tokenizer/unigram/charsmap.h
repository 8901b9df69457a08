// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// The replacements that a SentencePiece model makes before it looks for pieces: a trie of UTF-8
// strings, with a replacement for each ("precompiled_charsmap").
class Charsmap {
 public:
  // blob: the size of the trie in four bytes, the trie as Darts units of four bytes each, all
  // little-endian, and the replacements, each NUL-terminated. Throws if it is malformed.
  explicit Charsmap(std::string_view blob);

  // The replacement of the shortest key that `bytes` begins with, as in Hugging Face's tokenizers;
  // false if there is none. Whatever the trie contains, nothing outside it is read.
  bool find(std::string_view bytes, std::u32string_view& replacement) const;
  // Whether an ASCII character has no replacement.
  bool keeps(char32_t ascii) const { return keeps_[ascii]; }

 private:
  std::vector<uint32_t> units_;
  std::vector<uint32_t> starts_;  // for each byte of the replacements: the scalar that begins there
  std::u32string scalars_;        // of the replacements
  std::vector<bool> keeps_;
};

}  // namespace bert::tokenizer
