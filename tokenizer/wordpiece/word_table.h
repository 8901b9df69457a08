// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/raw_buffer.h"
#include "tokenizer/unicode/short_word.h"

namespace bert::tokenizer {

// A hash table of short words. Most words of a text are whole tokens, and are found here in one go,
// while a trie takes a step for every byte, each depending on the last.
class WordTable {
 public:
  static constexpr size_t kMaxSize = ShortWord::kMaxSize;
  static constexpr int32_t kNone = -1;

  // Has room for this many words.
  explicit WordTable(size_t words);

  // Of equal words the last one counts.
  void insert(const ShortWord& word, int32_t id);
  int32_t find(const ShortWord& word) const {
    const uint64_t hash = word.hash();
    for (size_t i = hash >> shift_;; i = (i + 1) & mask_) {
      if (tags_[i] == tag(hash) && entries_[i].is(word)) return entries_[i].id;
      if (tags_[i] == 0) return kNone;
    }
  }

 private:
  struct Entry {
    uint64_t low, high;
    uint32_t size;
    int32_t id;

    bool is(const ShortWord& word) const { return ShortWord{low, high, size} == word; }
  };

  static uint8_t tag(uint64_t hash) { return static_cast<uint8_t>(hash & 0x7f) | 0x80; }

  // 0: no entry. Tags save most comparisons with other words' entries.
  std::vector<uint8_t> tags_;
  RawBuffer<Entry> entries_;
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
