// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bytepair/merge_table.h"
#include "tokenizer/unicode/raw_buffer.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

struct BytePairOptions {
  std::vector<std::pair<std::string, std::string>> merges = {};  // the first comes first
  std::string unknown = {};                                      // empty: there is none
  std::string prefix = {};  // of characters that do not begin a word ("##")
  std::string suffix = {};  // of the character that ends a word ("</w>")
  bool fuse_unknown = false;
  bool byte_fallback = false;  // an unknown character becomes "<0xE2>", one token a byte
  bool ignore_merges = false;  // a word that is a token is that token
};

// A token of a word, and how many of the word's bytes it stands for.
struct WordPart {
  int32_t id;
  int32_t length;
};

// Memory reused from call to call.
struct BytePairScratch {
  // The tokens of a few bytes, for whoever merged them: owner's number << 8 | bytes.
  struct Memory {
    uint64_t owner = 0;
    char bytes[16] = {};
    int32_t ids[6] = {};
    uint8_t lengths[6] = {}, count = 0;

    bool is(const Memory& other) const {
      return owner == other.owner && std::memcmp(bytes, other.bytes, sizeof bytes) == 0;
    }
    uint64_t hash() const {
      uint64_t low, high;
      std::memcpy(&low, bytes, sizeof low);
      std::memcpy(&high, bytes + sizeof low, sizeof high);
      const uint64_t mixed = (low ^ high * 0x9e3779b97f4a7c15u) + owner;
      return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 32;
    }
  };

  static constexpr size_t kShort = 32;

  std::vector<Memory> memory;
  std::vector<WordPart> parts;                   // of a word, the result
  std::array<MergeTable::Merge, kShort> merges;  // of each part and the next one
  std::vector<int32_t> previous, next;
  std::vector<uint64_t> queue;
  std::string spelled;
  RawBuffer<char> text;
  RawBuffer<WordPart> word;
};

// Byte-pair encoding (Sennrich 2016) as Hugging Face's tokenizers do it: of all neighbours, those
// whose merge has the lowest rank are joined first, the leftmost of equals, until none are left.
class BytePair {
 public:
  // The vocabulary must outlive this.
  BytePair(const Vocabulary& vocabulary, const BytePairOptions& options);

  // Splits a word, in well-formed UTF-8, into scratch.parts. A character that is not in the
  // vocabulary, where nothing stands for it, is left out, and so is its length.
  void tokenize(std::string_view word, BytePairScratch& scratch) const;
  // Joins what is in scratch.parts, in time n log n.
  void merge(BytePairScratch& scratch) const;
  // The same of few parts, whose neighbours merge as scratch.merges says: time n^2, but no queue.
  void merge_short(BytePairScratch& scratch) const;
  MergeTable::Merge find(int32_t left, int32_t right) const { return table_.find(left, right); }

  // The ids of every merge's two tokens.
  struct Merge {
    int32_t left, right, whole;
  };
  const std::vector<Merge>& merges() const { return merges_; }
  int32_t unknown() const { return unknown_; }

 private:
  void add_merges(const BytePairOptions& options);
  enum class Known { no, itself, by_bytes };
  Known add_character(std::string_view bytes, bool is_first, bool is_last,
                      BytePairScratch& scratch) const;
  void merge_long(BytePairScratch& scratch) const;

  const Vocabulary& vocabulary_;
  std::string prefix_, suffix_;
  bool has_unknown_, fuse_unknown_, ignore_merges_;
  int32_t unknown_;
  std::vector<int32_t> bytes_;  // the tokens "<0x00>" to "<0xFF>"; empty without byte_fallback
  MergeTable table_;
  std::vector<Merge> merges_;  // by rank
};

}  // namespace bert::tokenizer
