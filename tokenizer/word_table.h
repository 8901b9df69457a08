// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// A hash table of short words. Most words of a text are whole tokens, and are found here at once,
// where a trie takes a step that depends on the last for every byte.
class WordTable {
 public:
  static constexpr size_t kMaxSize = 16;
  static constexpr int32_t kNone = -1;

  // Room for so many words.
  explicit WordTable(size_t words);

  // word: 1 to kMaxSize bytes. Of equal words the last one counts.
  void insert(std::string_view word, int32_t id);
  // kMaxSize bytes can be read at `word`.
  int32_t find(const char* word, size_t size) const {
    const Key key(word, size);
    const uint64_t hash = key.hash();
    for (size_t i = hash >> shift_;; i = (i + 1) & mask_) {
      if (tags_[i] == tag(hash) && entries_[i].key == key) return entries_[i].id;
      if (tags_[i] == 0) return kNone;
    }
  }

 private:
  struct Key {
    Key() = default;
    Key(const char* word, size_t bytes) : size(static_cast<uint32_t>(bytes)) {
      std::memcpy(&low, word, sizeof low);
      std::memcpy(&high, word + sizeof low, sizeof high);
      low &= kMasks[bytes].low;
      high &= kMasks[bytes].high;
    }
    bool operator==(const Key& other) const {
      return ((low ^ other.low) | (high ^ other.high) | (size ^ other.size)) == 0;
    }
    uint64_t hash() const {
      const uint64_t mixed = (low ^ high * 0x9e3779b97f4a7c15u) + size;
      return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    }
    uint64_t low = 0, high = 0;
    uint32_t size = 0;
  };
  struct Entry {
    Key key;
    int32_t id = kNone;
  };
  static uint8_t tag(uint64_t hash) { return static_cast<uint8_t>(hash & 0x7f) | 0x80; }
  struct Mask {
    uint64_t low, high;
  };
  static const Mask kMasks[kMaxSize + 1];

  std::vector<uint8_t>
      tags_;  // 0: no entry. They spare most looks at entries that are other words.
  std::vector<Entry> entries_;
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
