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
#include "tokenizer/unigram/double_array.h"
#include "tokenizer/wordpiece/word_table.h"

namespace bert::tokenizer {

// Byte-pair encoding of a text's bytes as they are, for a vocabulary that has all 256 of them. Most
// pieces of a text are tokens, and are looked up; others are divided where no merge can join two
// bytes; and parts that were merged before are remembered.
class ByteTokens {
 public:
  static constexpr size_t kPadding = WordTable::kMaxSize;

  // Whether a vocabulary has all bytes, and each of its ids stands for one sequence of bytes.
  static bool suits(const Vocabulary& vocabulary);
  // Both must outlive this.
  ByteTokens(const Vocabulary& vocabulary, const BytePair& byte_pair, bool ignore_merges);
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
  // The tokens of a piece that find() does not find, in scratch.word. Needs the same padding.
  std::span<const WordPart> merge(const char* bytes, size_t size, BytePairScratch& scratch) const;

 private:
  int32_t byte(char c) const { return bytes_[static_cast<uint8_t>(c)]; }
  // Writes the tokens of a part from `out` on; returns their end.
  WordPart* merge_part(const char* bytes, size_t size, BytePairScratch& scratch,
                       WordPart* out) const;
  void merge_bytes(const char* bytes, size_t size, BytePairScratch& scratch) const;
  void find_joints(const Vocabulary& vocabulary);
  void keep_words(std::span<const std::string_view> spellings, bool ignore_merges);
  static size_t pair(char left, char right) {
    return static_cast<size_t>(static_cast<uint8_t>(left)) << 8 | static_cast<uint8_t>(right);
  }
  bool joins(char left, char right) const { return joints_[pair(left, right)]; }

  const BytePair& byte_pair_;
  uint64_t owner_;  // in a thread's WordCache
  std::array<int32_t, 256> bytes_{};
  std::vector<uint32_t> pairs_;    // ranks of the merges of two single bytes
  std::bitset<256 * 256> joints_;  // by last byte of a merge's left token, first of its right
  WordTable words_{0};             // the short tokens that merging produces
  DoubleArray trie_;               // all tokens
  std::optional<BytePairSearch> search_;
  // With ignore_merges, the tokens that words_ lacks.
  DoubleArray ignored_;
  size_t shortest_ignored_ = SIZE_MAX;
};

}  // namespace bert::tokenizer
