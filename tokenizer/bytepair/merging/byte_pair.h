// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bytepair/merging/merge_table.h"
#include "tokenizer/bytepair/merging/word_cache.h"
#include "tokenizer/unicode/raw_buffer.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

struct BytePairOptions {
  std::vector<std::pair<std::string, std::string>> merges = {};  // in order of rank
  std::string unknown = {};                                      // empty: there is none
  std::string file = {};    // that names it, for error messages
  std::string prefix = {};  // of characters that do not begin a word ("##")
  std::string suffix = {};  // of the character that ends a word ("</w>")
  bool fuse_unknown = false;
  bool byte_fallback = false;  // unknown characters become "<0xE2>", a token per byte
  bool ignore_merges = false;  // a word that is a token is that token
  // As in transformers' Python tokenizers, all neighbours with the lowest rank are joined before
  // others are looked for, not only the leftmost.
  bool at_once = false;
  std::string merges_name = "model.merges";  // where they are, for error messages
};

// Memory reused from call to call.
struct BytePairScratch {
  static constexpr size_t kShort = 32;

  WordCache memory;
  std::vector<WordPart> parts;         // of a word, the result
  std::array<uint32_t, kShort> ranks;  // of the merges of each part and the next one
  std::vector<int32_t> previous, next;
  std::vector<uint64_t> queue, later;
  std::string spelled;
  RawBuffer<char> text;
  RawBuffer<WordPart> word;
};

// Byte-pair encoding (Sennrich 2016) as in Hugging Face's tokenizers: of all neighbours, those
// whose merge has the lowest rank are joined first, the leftmost if equal, until no merge is left.
class BytePair {
 public:
  // The vocabulary must outlive this.
  BytePair(const Vocabulary& vocabulary, const BytePairOptions& options);

  // Splits a word, in well-formed UTF-8, into scratch.parts. A character that has neither a token
  // nor a substitute is left out, and so is its length. Throws if one needs an unknown token that
  // the vocabulary does not have.
  void tokenize(std::string_view word, BytePairScratch& scratch) const;
  // Merges scratch.parts, in time n log n. Returns the rank of the last merge; MergeTable::kNone if
  // there was none.
  uint32_t merge(BytePairScratch& scratch) const;
  // The same for few parts, the ranks of whose merges are in scratch.ranks: time n^2, but no queue.
  uint32_t merge_short(BytePairScratch& scratch) const;
  // The rank of the merge of two tokens; MergeTable::kNone if there is none.
  uint32_t rank(int32_t left, int32_t right) const { return table_.rank(left, right); }
  int32_t whole(uint32_t rank) const { return table_.whole(rank); }

  // The ids of every merge's two tokens, and of the token that they become.
  struct Merge {
    int32_t left, right, whole;
  };
  const std::vector<Merge>& merges() const { return merges_; }
  // Forgets the merges that never happen, which makes the table smaller, and counts ranks anew.
  // happens: by rank.
  void keep_merges(const std::vector<bool>& happens);
  int32_t unknown() const { return unknown_.id(); }
  // Ids of "<0x00>" to "<0xFF>", or Vocabulary::kNone if missing; empty without byte_fallback.
  const std::vector<int32_t>& bytes() const { return bytes_; }
  // Whether every character has a token, or tokens for its bytes, wherever it is in a word, and
  // only merges join them.
  bool knows_all() const;

 private:
  void tokenize_anew(std::string_view word, BytePairScratch& scratch) const;
  void add_merges(const BytePairOptions& options);
  enum class Known { no, itself, by_bytes };
  Known add_character(std::string_view bytes, bool is_first, bool is_last,
                      BytePairScratch& scratch) const;
  uint32_t merge_long(BytePairScratch& scratch) const;

  const Vocabulary& vocabulary_;
  uint64_t owner_ = WordCache::new_owner();
  std::string prefix_, suffix_;
  bool has_unknown_, fuse_unknown_, ignore_merges_, at_once_;
  UnknownToken unknown_;
  std::vector<int32_t> bytes_;
  MergeTable table_;
  std::vector<Merge> merges_;  // by rank
};

}  // namespace bert::tokenizer
