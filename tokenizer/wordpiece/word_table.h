// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/raw_buffer.h"

namespace bert::tokenizer {

// A hash table of short words. Most words of a text are whole tokens, and are found here at once,
// while a trie takes a step for every byte, each dependent on the last.
class WordTable {
 public:
  static constexpr size_t kMaxSize = 16;
  static constexpr int32_t kNone = -1;

  // Has room for this many words.
  explicit WordTable(size_t words);

  // word: 1 to kMaxSize bytes. Of equal words the last one counts.
  void insert(std::string_view word, int32_t id);
  // size: 1 to kMaxSize; but kMaxSize bytes must be readable at `word`.
  int32_t find(const char* word, size_t size) const {
    const Entry wanted = entry_of(word, size);
    const uint64_t hash = wanted.hash();
    for (size_t i = hash >> shift_;; i = (i + 1) & mask_) {
      if (tags_[i] == tag(hash) && entries_[i].equals(wanted)) return entries_[i].id;
      if (tags_[i] == 0) return kNone;
    }
  }

 private:
  struct Entry {
    uint64_t low, high;
    uint32_t size;
    int32_t id;

    bool equals(const Entry& other) const {
      return ((low ^ other.low) | (high ^ other.high) | (size ^ other.size)) == 0;
    }
    uint64_t hash() const {
      const uint64_t mixed = (low ^ high * 0x9e3779b97f4a7c15u) + size;
      return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    }
  };

  static Entry entry_of(const char* word, size_t size) {
    Entry entry{0, 0, static_cast<uint32_t>(size), kNone};
    std::memcpy(&entry.low, word, sizeof entry.low);
    std::memcpy(&entry.high, word + sizeof entry.low, sizeof entry.high);
    entry.low &= low_bytes(size);
    entry.high &= low_bytes(size < 8 ? 0 : size - 8);
    return entry;
  }
  static uint64_t low_bytes(size_t count) {
    return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * count) - 1;
  }
  static uint8_t tag(uint64_t hash) { return static_cast<uint8_t>(hash & 0x7f) | 0x80; }

  // 0: no entry. Tags spare most comparisons with entries of other words.
  std::vector<uint8_t> tags_;
  RawBuffer<Entry> entries_;
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
