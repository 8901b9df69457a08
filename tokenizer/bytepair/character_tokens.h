// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/byte_pair.h"

namespace bert::tokenizer {

// Byte-pair encoding of characters, none of which is unknown, as each has a token or those of its
// bytes. Such models (Gemma's) take whole lines for words: they are cut where no merge can join two
// characters.
class CharacterTokens {
 public:
  // Whether a model is one of these.
  static bool suits(const Vocabulary& vocabulary, const BytePair& byte_pair);
  // Both must outlive this.
  CharacterTokens(const Vocabulary& vocabulary, const BytePair& byte_pair);

  // The tokens of a word, as BytePair::tokenize() gives them, in scratch.word.
  std::span<const WordPart> tokenize(std::string_view word, BytePairScratch& scratch) const;

 private:
  // false: no merge joins a token that ends with `left` and one that begins with `right`.
  bool may_join(char32_t left, char32_t right) const { return joints_[place(left, right)]; }
  size_t place(char32_t left, char32_t right) const {
    return (static_cast<uint64_t>(left) << 21 | right) * 0x9e3779b97f4a7c15u >> shift_;
  }

  const BytePair& byte_pair_;
  std::vector<bool> joints_;  // by hash
  int shift_;
};

}  // namespace bert::tokenizer
