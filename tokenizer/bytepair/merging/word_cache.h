// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/short_word.h"

namespace bert::tokenizer {

// A token of a word, and how many of the word's bytes it stands for.
struct WordPart {
  int32_t id;
  int32_t length;
};

// A hash table of words' tokens, in which a new word replaces an old one. Words are stored in
// kBytes bytes, padded with zeros.
template <size_t kBytes, size_t kMaxParts, size_t kEntries>
class WordCacheTable {
 public:
  struct Key {
    uint64_t owner = 0;  // with the word's size in the lowest byte
    std::array<uint64_t, kBytes / 8> bytes = {};

    bool operator==(const Key& other) const {
      uint64_t difference = owner ^ other.owner;
      for (size_t i = 0; i < bytes.size(); ++i) difference |= bytes[i] ^ other.bytes[i];
      return difference == 0;
    }
  };

  WordPart* recall(const Key& key, uint64_t hash, WordPart* out) {
    if (entries_.empty()) entries_.resize(kEntries);
    wanted_ = &entries_[hash >> (64 - std::countr_zero(kEntries))];
    key_ = key;
    const Entry& entry = *wanted_;
    if (!(entry.key == key)) return nullptr;
    for (int i = 0; i < entry.count; ++i) *out++ = {entry.ids[i], entry.lengths[i]};
    return out;
  }
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
  struct alignas(64) Entry {
    Key key;
    int32_t ids[kMaxParts] = {};
    uint8_t lengths[kMaxParts] = {}, count = 0;
  };
  static_assert(sizeof(Entry) - sizeof(Key) - 5 * kMaxParts - 1 < 8);  // whole cache lines

  std::vector<Entry> entries_;
  Entry* wanted_ = nullptr;  // where the key belongs
  Key key_;
};

// The tokens of words that were merged before, for any number of owners. Words in Latin letters are
// short. Words in letters of two or three bytes are not, and take longest to merge.
class WordCache {
 public:
  static constexpr size_t kMaxSize = 48;   // bytes of a word
  static constexpr size_t kMaxParts = 14;  // tokens of a word

  // A number unique to this owner.
  static uint64_t new_owner() {
    static std::atomic<uint64_t> next = 1;
    return next++;
  }

  // Writes the tokens of a word from `out` on, which has room for kMaxParts, and returns their end,
  // or null if they are not known; then keep() may be called.
  WordPart* recall(uint64_t owner, const ShortWord& word, WordPart* out) {
    asked_ = Asked::short_word;
    return short_.recall({owner << 8 | word.size, {word.low, word.high}},
                         word.hash() ^ owner * kMix, out);
  }
  // The same for a word of any length.
  WordPart* recall(uint64_t owner, std::string_view word, WordPart* out) {
    if (word.size() <= ShortWord::kMaxSize) return recall(owner, ShortWord::of(word), out);
    asked_ = word.size() <= kMaxSize ? Asked::long_word : Asked::nothing;
    if (asked_ == Asked::nothing) return nullptr;
    LongTable::Key key{owner << 8 | word.size(), {}};
    std::memcpy(key.bytes.data(), word.data(), word.size());
    uint64_t hash = key.owner;
    for (const uint64_t bytes : key.bytes) hash = (hash ^ bytes ^ hash >> 29) * kMix;
    return long_.recall(key, hash, out);
  }
  // Remembers the tokens of the word last asked for, if they are few.
  void keep(std::span<const WordPart> parts) {
    if (asked_ == Asked::short_word) short_.keep(parts);
    if (asked_ == Asked::long_word) long_.keep(parts);
  }

 private:
  using ShortTable = WordCacheTable<ShortWord::kMaxSize, 7, 16384>;
  using LongTable = WordCacheTable<kMaxSize, kMaxParts, 4096>;
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;

  ShortTable short_;
  LongTable long_;
  enum class Asked { nothing, short_word, long_word } asked_ = Asked::nothing;
};

}  // namespace bert::tokenizer
