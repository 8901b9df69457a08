// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/unicode/short_word.h"

namespace bert::tokenizer {

// A token of a word, and how many of the word's bytes it stands for.
struct WordPart {
  int32_t id;
  int32_t length;
};

// The tokens of short words that were merged before, for any number of owners: a hash table in
// which a word takes the place of another one.
class WordMemory {
 public:
  static constexpr size_t kMaxParts = 7;

  // A number that no other owner has.
  static uint64_t new_owner() {
    static std::atomic<uint64_t> next = 1;
    return next++;
  }

  // Writes the tokens of a word, which are at most kMaxParts, from `out` on and returns their end,
  // or null if it is not known; then keep() may be called.
  WordPart* recall(uint64_t owner, const ShortWord& word, WordPart* out) {
    if (entries_.empty()) entries_.resize(kEntries);
    wanted_ = &entries_[(word.hash() ^ owner * 0x9e3779b97f4a7c15u) >> kShift];
    key_ = {owner << 8 | word.size, word.low, word.high};
    const Entry& entry = *wanted_;
    if (!(entry.key == key_)) return nullptr;
    for (int i = 0; i < entry.count; ++i) *out++ = {entry.ids[i], entry.lengths[i]};
    return out;
  }
  // The tokens of the word that was asked for last, if they are few.
  void keep(std::span<const WordPart> parts) {
    if (parts.size() > kMaxParts) return;
    wanted_->key = key_;
    wanted_->count = 0;
    for (const auto& [id, length] : parts) {
      wanted_->ids[wanted_->count] = id;
      wanted_->lengths[wanted_->count++] = static_cast<uint8_t>(length);
    }
  }

 private:
  static constexpr size_t kEntries = 16384;
  static constexpr int kShift = 64 - std::countr_zero(kEntries);

  struct Key {
    uint64_t owner = 0;  // and the word's size in the lowest byte
    uint64_t low = 0, high = 0;

    bool operator==(const Key& other) const {
      return ((owner ^ other.owner) | (low ^ other.low) | (high ^ other.high)) == 0;
    }
  };
  struct alignas(64) Entry {
    Key key;
    int32_t ids[kMaxParts] = {};
    uint8_t lengths[kMaxParts] = {}, count = 0;
  };
  static_assert(sizeof(Entry) == 64);

  std::vector<Entry> entries_;
  Entry* wanted_ = nullptr;  // where it belongs
  Key key_;
};

}  // namespace bert::tokenizer
