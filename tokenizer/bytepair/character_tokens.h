// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/bytepair/merging/word_memory.h"
#include "tokenizer/bytepair/scalar_counts.h"
#include "tokenizer/bytepair/scalar_joints.h"
#include "tokenizer/wordpiece/word_table.h"

namespace bert::tokenizer {

// Byte-pair encoding of characters, none of which is unknown: each has a token, or tokens for its
// bytes. Such models (Gemma's) treat whole lines as words. Lines are cut at spaces and signs where
// no merge can join two characters, which leaves words; many of those are tokens, and are looked
// up. Others are divided wherever no merge can join two characters.
class CharacterTokens {
 public:
  static constexpr size_t kPadding = WordTable::kMaxSize;

  // Whether this is such a model.
  static bool suits(const Vocabulary& vocabulary, const BytePair& byte_pair);
  // Both must outlive this. byte_pair forgets the merges that never happen. space: the character
  // that texts have a space for; empty: they are spelled as in the vocabulary.
  CharacterTokens(const Vocabulary& vocabulary, BytePair& byte_pair, std::string_view space = {});

  // word_end() and tokenize() need kPadding readable bytes after the text.
  // Where the word that begins at `at` ends: no merge joins it with what follows.
  size_t word_end(std::string_view text, size_t at) const;
  // Writes the tokens of a word, as BytePair::tokenize() would, from `out` on, which has room for
  // one per byte, and returns their end; null if the word is not well-formed UTF-8.
  WordPart* tokenize(std::string_view word, BytePairScratch& scratch, WordPart* out) const {
    WordPart* const end = find_part(word, out);
    return end != nullptr ? end : memory_.tokenize(*this, word, scratch, out);
  }
  // WordMemory's rules.
  size_t part_end(std::string_view word, size_t begin) const;
  WordPart* find_part(std::string_view part, WordPart* out) const {
    if (part.size() > ShortWord::kMaxSize) return nullptr;
    const int32_t id = words_.find(ShortWord::padded(part.data(), part.size()));
    if (id == WordTable::kNone) return nullptr;
    return *out = {id, static_cast<int32_t>(part.size())}, out + 1;
  }
  WordPart* merge_part(std::string_view part, BytePairScratch& scratch, WordPart* out) const;

  // Of the tokens that tokenize() gives.
  const ScalarCounts& scalars() const { return scalars_; }

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

  // Leaves the tokens in scratch.parts. Returns the rank of the last merge.
  uint32_t merge_characters(std::string_view part, BytePairScratch& scratch) const;
  // The tokens that merging their characters gives. `happens` is set for every merge's rank.
  std::vector<int32_t> find_made(std::span<const std::string> tokens,
                                 std::vector<bool>& happens) const;

  const BytePair& byte_pair_;
  WordMemory memory_;
  ScalarJoints joints_;
  CharacterTable characters_;
  ScalarCounts scalars_;
  WordTable words_{0};  // the short tokens that merging produces
};

}  // namespace bert::tokenizer
