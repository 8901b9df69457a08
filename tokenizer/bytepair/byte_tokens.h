// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/bytepair/merging/byte_pair_search.h"
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
  std::span<const WordPart> merge(const char* bytes, size_t size, BytePairScratch& scratch) const;
  // Of the tokens that these functions give.
  const ScalarCounts& scalars() const { return scalars_; }

 private:
  int32_t byte(char c) const { return bytes_[static_cast<uint8_t>(c)]; }
  // Where the part that begins at `begin` ends: no merge joins it with what follows.
  size_t part_end(const char* bytes, size_t begin, size_t size) const;
  // These write tokens from `out` on, and return their end: of a piece's parts, of a part, and of a
  // part that is not remembered.
  // first: where the first part ends.
  WordPart* merge_parts(const char* bytes, size_t size, size_t first, BytePairScratch& scratch,
                        WordPart* out) const;
  WordPart* merge_part(const char* bytes, size_t size, BytePairScratch& scratch,
                       WordPart* out) const;
  WordPart* merge_anew(const char* bytes, size_t size, BytePairScratch& scratch,
                       WordPart* out) const;
  WordCache::Key key_of(const char* bytes, size_t size) const {
    if (size <= ShortWord::kMaxSize) return {owner_, ShortWord::padded(bytes, size)};
    return {owner_, std::string_view(bytes, size)};
  }
  void merge_bytes(const char* bytes, size_t size, BytePairScratch& scratch) const;
  void find_joints(const Vocabulary& vocabulary);
  void keep_words(std::span<const std::string_view> spellings, bool ignore_merges);
  static size_t pair(char left, char right) {
    return static_cast<size_t>(static_cast<uint8_t>(left)) << 8 | static_cast<uint8_t>(right);
  }
  // Whether a merge may join what is before and after bytes[at], which begins a scalar.
  bool joins(const char* bytes, size_t at, char32_t left, char32_t right) const {
    return edges_[pair(bytes[at - 1], bytes[at])] ||
           ((left | right) >= 0x80 && joints_.has(left, right));
  }

  const BytePair& byte_pair_;
  uint64_t owner_;  // in a thread's WordCache
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
