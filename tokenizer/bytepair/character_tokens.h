// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/bytepair/scalar_joints.h"
#include "tokenizer/wordpiece/word_table.h"

namespace bert::tokenizer {

// Byte-pair encoding of characters, none of which is unknown: each has a token, or tokens for its
// bytes. Such models (Gemma's) treat whole lines as words. Lines are cut where no merge can join
// two characters, which leaves words; many of those are tokens, and are looked up.
class CharacterTokens {
 public:
  static constexpr size_t kPadding = WordTable::kMaxSize;

  // Whether this is such a model.
  static bool suits(const Vocabulary& vocabulary, const BytePair& byte_pair);
  // Both must outlive this.
  CharacterTokens(const Vocabulary& vocabulary, const BytePair& byte_pair);

  struct Part {
    size_t end;
    int32_t scalars;
  };
  // The part of a text that begins at `at`: no merge joins it with what follows.
  Part next_part(std::string_view text, size_t at) const;
  // Writes the tokens of a part, as BytePair::tokenize() would, from `out` on, which has room for
  // one per byte; returns their end. kPadding bytes must be readable after the part.
  WordPart* tokenize_part(std::string_view part, BytePairScratch& scratch, WordPart* out) const;
  // The tokens of a text, in scratch.word. Needs the same padding.
  std::span<const WordPart> tokenize(std::string_view text, BytePairScratch& scratch) const;

 private:
  // The ids of characters, in pages of 256; pages that would be empty share one.
  class CharacterTable {
   public:
    CharacterTable() : pages_((0x10ffff >> 8) + 1), ids_(256, Vocabulary::kNone) {}
    void insert(char32_t c, int32_t id);
    int32_t find(char32_t c) const { return ids_[pages_[c >> 8] << 8 | (c & 0xff)]; }

   private:
    std::vector<uint16_t> pages_;  // 0: the empty page
    std::vector<int32_t> ids_;
  };

  WordPart* tokenize_word(const WordCache::Key& key, std::string_view part,
                          BytePairScratch& scratch, WordPart* out) const;
  void merge_characters(std::string_view part, BytePairScratch& scratch) const;

  const BytePair& byte_pair_;
  uint64_t owner_ = WordCache::new_owner();
  ScalarJoints joints_;
  CharacterTable characters_;
  WordTable words_{0};  // the short tokens that merging produces
};

}  // namespace bert::tokenizer
