// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

// A hash table from pairs of tokens to the ranks and results of their merges. Merging spends most
// of its time waiting for this table, so it is small: a pair and its rank share eight bytes. Most
// pairs have no merge, which a group's tags show at once: a byte for each of its places, all in one
// word.
class MergeTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Room for a million merges; the largest vocabularies need about half of it.
  static constexpr int kRankBits = 20;
  static constexpr size_t kMaxMerges = (size_t{1} << kRankBits) - 1;

  // Has room for this many merges, at most kMaxMerges.
  explicit MergeTable(size_t merges) : tags_(merges / kUsed + 2), entries_(tags_.size() * kGroup) {
    wholes_.reserve(merges);
  }

  // Adds the merge of the next rank. If a pair is added twice, the last one counts.
  void append(int32_t left, int32_t right, int32_t whole) {
    const uint64_t pair = pair_of(left, right), hash = hash_of(pair);
    const uint64_t entry = pair << kRankBits | wholes_.size();
    wholes_.push_back(whole);
    const size_t known = place_of(pair);
    if (known != kNowhere) {
      entries_[known] = entry;
      return;
    }
    size_t group = group_of(hash);
    while (zeros(tags_[group]) == 0) group = after(group);
    const auto free = static_cast<size_t>(std::countr_zero(zeros(tags_[group])) / 8);
    tags_[group] |= tag(hash) << 8 * free;
    entries_[group * kGroup + free] = entry;
  }
  // kNone if the two are not merged.
  uint32_t rank(int32_t left, int32_t right) const {
    const size_t place = place_of(pair_of(left, right));
    if (place == kNowhere) return kNone;
    const auto rank = static_cast<uint32_t>(entries_[place] & kMaxMerges);
    __builtin_prefetch(&wholes_[rank]);
    return rank;
  }
  int32_t whole(uint32_t rank) const { return wholes_[rank]; }

 private:
  static constexpr size_t kGroup = 8, kUsed = 5;  // places per group, and used on average
  static constexpr size_t kNowhere = ~size_t{0};
  static constexpr uint64_t kOnes = 0x0101010101010101u;
  static constexpr int kIdBits = std::bit_width(static_cast<uint32_t>(Vocabulary::kMaxId));
  static_assert(2 * kIdBits + kRankBits <= 64);

  size_t place_of(uint64_t pair) const {
    const uint64_t hash = hash_of(pair), wanted = tag(hash) * kOnes;
    for (size_t group = group_of(hash);; group = after(group)) {
      for (uint64_t like = zeros(tags_[group] ^ wanted); like != 0; like &= like - 1) {
        const size_t place = group * kGroup + static_cast<size_t>(std::countr_zero(like) / 8);
        if (entries_[place] >> kRankBits == pair) return place;
      }
      if (zeros(tags_[group]) != 0) return kNowhere;
    }
  }
  // The highest bit of each byte that is 0, and perhaps of a byte above such a byte that is not 0.
  static uint64_t zeros(uint64_t bytes) { return (bytes - kOnes) & ~bytes & kOnes << 7; }
  static uint64_t pair_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << kIdBits | static_cast<uint64_t>(right);
  }
  static uint64_t hash_of(uint64_t pair) { return (pair ^ pair >> 29) * 0x9e3779b97f4a7c15u; }
  // From the upper half of the hash, for any number of groups.
  size_t group_of(uint64_t hash) const { return (hash >> 32) * tags_.size() >> 32; }
  size_t after(size_t group) const { return group + 1 < tags_.size() ? group + 1 : 0; }
  // From other bits than the group; never 0, which marks an empty place.
  static uint64_t tag(uint64_t hash) { return (hash >> 24 & 0x7f) | 0x80; }

  std::vector<uint64_t> tags_;     // by group
  std::vector<uint64_t> entries_;  // a pair, and its rank in the lower bits
  std::vector<int32_t> wholes_;    // by rank
};

}  // namespace bert::tokenizer
