// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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

// The tokens of words that were merged before, for any number of owners. They lie in a ring, each
// with as much room as it needs, where new words replace the oldest ones.
class WordCache {
 public:
  static constexpr size_t kMaxSize = 48;   // bytes of a word
  static constexpr size_t kMaxParts = 14;  // tokens of a word

  // A number unique to this owner.
  static uint64_t new_owner() {
    static std::atomic<uint64_t> next = 1;
    return next++;
  }

  // An owner's word, of 1 to kMaxSize bytes.
  struct Key {
    Key(uint64_t owner, const ShortWord& word)
        : head(owner << 16 | word.size << 8),
          chunks{word.low, word.high},
          size(word.size > 8 ? 2 : 1) {
      hash = word.hash() ^ owner * kMix;
    }
    Key(uint64_t owner, std::string_view word)
        : head(owner << 16 | word.size() << 8), chunks{}, size((word.size() + 7) / 8) {
      std::memcpy(chunks.data(), word.data(), word.size());
      hash = head;
      for (size_t i = 0; i < size; ++i) hash = (hash ^ chunks[i] ^ hash >> 29) * kMix;
    }

    uint64_t head, hash;
    std::array<uint64_t, kMaxSize / 8> chunks;  // the bytes, then zeros
    size_t size;                                // chunks that have bytes
  };

  // Writes the tokens that were kept of a word from `out` on and returns their end, or null if
  // there are none.
  WordPart* recall(const Key& key, WordPart* out) {
    if (slots_.empty()) slots_.resize(kSlots), ring_.resize(kRing);
    const uint64_t* const bucket = &slots_[bucket_of(key)];
    for (size_t i = 0; i < kBucket; ++i) {
      if ((bucket[i] ^ key.hash) >> kPlaceBits != 0) continue;
      const uint64_t place = bucket[i] & kPlaces;
      if (place + kRing < next_) continue;  // overwritten
      const uint64_t* const entry = &ring_[place % kRing];
      if ((entry[0] ^ key.head) >> 8 != 0) continue;
      if (!std::equal(entry + 1, entry + 1 + key.size, key.chunks.begin())) continue;
      const size_t count = entry[0] & 0xff;
      std::memcpy(out, entry + 1 + key.size, count * sizeof(WordPart));
      return out + count;
    }
    return nullptr;
  }
  // Remembers the tokens of a word that was not known, if they are few.
  void keep(const Key& key, std::span<const WordPart> parts) {
    if (parts.size() > kMaxParts) return;
    const size_t size = 1 + key.size + parts.size();
    if (next_ % kRing + size > kRing) next_ += kRing - next_ % kRing;  // entries do not wrap
    // After eight terabytes, as places have 40 bits.
    if (next_ + size > kPlaces) *this = {}, slots_.resize(kSlots), ring_.resize(kRing);
    uint64_t* const entry = &ring_[next_ % kRing];
    entry[0] = key.head | parts.size();
    std::copy_n(key.chunks.begin(), key.size, entry + 1);
    std::memcpy(entry + 1 + key.size, parts.data(), parts.size_bytes());
    uint64_t* const bucket = &slots_[bucket_of(key)];
    const auto older = [](uint64_t a, uint64_t b) { return (a & kPlaces) < (b & kPlaces); };
    *std::min_element(bucket, bucket + kBucket, older) = (key.hash & ~kPlaces) | next_;
    next_ += size;
  }

 private:
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15u;
  static constexpr size_t kRing = size_t{1} << 18, kSlots = size_t{1} << 16, kBucket = 4;
  static constexpr int kPlaceBits = 40;
  static constexpr uint64_t kPlaces = (uint64_t{1} << kPlaceBits) - 1;
  static_assert(sizeof(WordPart) == sizeof(uint64_t));

  static size_t bucket_of(const Key& key) {
    return (key.hash >> 20) % (kSlots / kBucket) * kBucket;
  }

  // The upper bits of a word's hash, and its place, counted since the first word.
  std::vector<uint64_t> slots_;
  std::vector<uint64_t> ring_;  // words: head and number of tokens, chunks, tokens
  uint64_t next_ = 0;           // the place of the next word
};

}  // namespace bert::tokenizer
