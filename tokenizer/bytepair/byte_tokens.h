// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/bytepair/merging/byte_pair_search.h"
#include "tokenizer/bytepair/merging/word_memory.h"
#include "tokenizer/bytepair/scalar_counts.h"
#include "tokenizer/bytepair/scalar_joints.h"
#include "tokenizer/unigram/double_array.h"
#include "tokenizer/wordpiece/word_table.h"

namespace bert::tokenizer {

// Byte-pair encoding of a text's bytes as they are, for a vocabulary that has all 256 of them. Most
// pieces of a text are tokens, and are looked up; others are divided where no merge can join two
// scalars; and what was merged before is remembered.
class ByteTokens {
 public:
  static constexpr size_t kPadding = WordTable::kMaxSize;

  // Whether a vocabulary has all bytes, and each of its ids stands for one sequence of bytes.
  static bool suits(const Vocabulary& vocabulary);
  // Both must outlive this. byte_pair forgets the merges that never happen.
  ByteTokens(const Vocabulary& vocabulary, BytePair& byte_pair, bool ignore_merges);
  ByteTokens(const ByteTokens&) = delete;  // search_ refers to trie_
  ByteTokens& operator=(const ByteTokens&) = delete;

  // The token that a piece is, or Vocabulary::kNone if it has to be merged. kPadding bytes must be
  // readable after it.
  int32_t find(const char* bytes, size_t size) const {
    if (size <= WordTable::kMaxSize) {
      const int32_t id = words_.find(ShortWord::padded(bytes, size));
      if (id != WordTable::kNone) return id;
    }
    return size < shortest_ignored_ ? Vocabulary::kNone : ignored_.find({bytes, size});
  }
  // The tokens of a piece that find() does not find, in scratch.word. The piece is well-formed
  // UTF-8, and has the same padding.
  std::span<const WordPart> merge(std::string_view piece, BytePairScratch& scratch) const {
    scratch.word.reserve(piece.size());
    WordPart* const begin = scratch.word.data();
    return {begin, memory_.tokenize(*this, piece, scratch, begin)};
  }
  // WordMemory's rules.
  size_t part_end(std::string_view piece, size_t begin) const;
  WordPart* find_part(std::string_view part, WordPart* out) const;
  WordPart* merge_part(std::string_view part, BytePairScratch& scratch, WordPart* out) const;

  // Of the tokens that these functions give.
  const ScalarCounts& scalars() const { return scalars_; }

 private:
  int32_t byte(char c) const { return bytes_[static_cast<uint8_t>(c)]; }
  void merge_bytes(std::string_view part, BytePairScratch& scratch) const;
  void find_joints(const Vocabulary& vocabulary);
  void keep_words(std::span<const std::string_view> spellings, bool ignore_merges);
  static size_t pair(char left, char right) {
    return static_cast<size_t>(static_cast<uint8_t>(left)) << 8 | static_cast<uint8_t>(right);
  }
  // Whether a merge may join what is before and after bytes[at], which begins a scalar.
  bool joins(std::string_view bytes, size_t at, char32_t left, char32_t right) const {
    return edges_[pair(bytes[at - 1], bytes[at])] ||
           ((left | right) >= 0x80 && joints_.has(left, right));
  }

  const BytePair& byte_pair_;
  WordMemory memory_;
  std::array<int32_t, 256> bytes_{};
  std::vector<uint32_t> pairs_;  // ranks of the merges of two single bytes
  // What merges join in well-formed text, by the last byte of the left token and the first of the
  // right one if these are ASCII or if one of the tokens has only a part of a scalar there; else by
  // the scalars.
  std::bitset<256 * 256> edges_;
  ScalarJoints joints_;
  ScalarCounts scalars_;
  WordTable words_{0};  // the short tokens that merging produces
  DoubleArray trie_;    // all tokens
  std::optional<BytePairSearch> search_;
  // With ignore_merges, the tokens that words_ lacks.
  DoubleArray ignored_;
  size_t shortest_ignored_ = SIZE_MAX;
};

}  // namespace bert::tokenizer
