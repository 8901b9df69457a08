// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

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
  static constexpr size_t kMaxSize = 16, kMaxParts = 7;

  // A number that no other owner has.
  static uint64_t new_owner() {
    static std::atomic<uint64_t> next = 1;
    return next++;
  }

  // Writes the tokens of a word of at most kMaxSize bytes, which are at most kMaxParts, from `out`
  // on and returns their end, or null if it is not known; then keep() may be called.
  WordPart* recall(uint64_t owner, std::string_view word, WordPart* out) {
    if (entries_.empty()) entries_.resize(kEntries);
    wanted_ = {.owner = owner << 8 | word.size()};
    std::memcpy(wanted_.bytes, word.data(), word.size());
    const Entry& entry = place();
    if (!entry.is(wanted_)) return nullptr;
    for (int i = 0; i < entry.count; ++i) *out++ = {entry.ids[i], entry.lengths[i]};
    return out;
  }
  // The tokens of the word that was asked for last, if they are few.
  void keep(std::span<const WordPart> parts) {
    if (parts.size() > kMaxParts) return;
    for (const auto& [id, length] : parts) {
      wanted_.ids[wanted_.count] = id;
      wanted_.lengths[wanted_.count++] = static_cast<uint8_t>(length);
    }
    place() = wanted_;
  }

 private:
  static constexpr size_t kEntries = 16384;

  struct alignas(64) Entry {
    uint64_t owner = 0;  // and the word's size in the lowest byte
    char bytes[kMaxSize] = {};
    int32_t ids[kMaxParts] = {};
    uint8_t lengths[kMaxParts] = {}, count = 0;

    bool is(const Entry& other) const {
      return owner == other.owner && std::memcmp(bytes, other.bytes, sizeof bytes) == 0;
    }
  };
  static_assert(sizeof(Entry) == 64);

  Entry& place() {
    uint64_t hash = wanted_.owner, words[kMaxSize / sizeof hash];
    std::memcpy(words, wanted_.bytes, sizeof words);
    for (const uint64_t word : words) hash = (hash ^ word ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    return entries_[(hash >> 32) % kEntries];
  }

  std::vector<Entry> entries_;
  Entry wanted_;
};

}  // namespace bert::tokenizer
