// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bert::tokenizer {

// A hash table of pairs of tokens, and what each is merged to. Most pairs are not merged, which the
// tags of a group say at once: a byte for each of its places, all in one word.
class MergeTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Merge {
    uint32_t rank = kNone;
    int32_t whole = -1;
  };

  // Has room for this many pairs.
  explicit MergeTable(size_t pairs)
      : tags_(std::bit_ceil(2 * pairs / kGroup + 2)),
        entries_(tags_.size() * kGroup),
        mask_(tags_.size() - 1),
        shift_(64 - std::countr_zero(tags_.size())) {}

  // Of equal pairs the last one counts.
  void insert(int32_t left, int32_t right, Merge merge) {
    const uint64_t hash = hash_of(key(left, right));
    const size_t known = place_of(left, right);
    if (known != kNowhere) {
      entries_[known].merge = merge;
      return;
    }
    size_t group = hash >> shift_;
    while (zeros(tags_[group]) == 0) group = (group + 1) & mask_;
    const auto free = static_cast<size_t>(std::countr_zero(zeros(tags_[group])) / 8);
    tags_[group] |= tag(hash) << 8 * free;
    entries_[group * kGroup + free] = {key(left, right), merge};
  }
  // Its rank is kNone if the two are not merged.
  Merge find(int32_t left, int32_t right) const {
    const size_t place = place_of(left, right);
    return place == kNowhere ? Merge{} : entries_[place].merge;
  }

 private:
  static constexpr size_t kGroup = 8;
  static constexpr size_t kNowhere = ~size_t{0};
  static constexpr uint64_t kOnes = 0x0101010101010101u;

  struct Entry {
    uint64_t key;
    Merge merge;
  };

  size_t place_of(int32_t left, int32_t right) const {
    const uint64_t hash = hash_of(key(left, right)), wanted = tag(hash) * kOnes;
    for (size_t group = hash >> shift_;; group = (group + 1) & mask_) {
      for (uint64_t like = zeros(tags_[group] ^ wanted); like != 0; like &= like - 1) {
        const size_t place = group * kGroup + static_cast<size_t>(std::countr_zero(like) / 8);
        if (entries_[place].key == key(left, right)) return place;
      }
      if (zeros(tags_[group]) != 0) return kNowhere;
    }
  }
  // The highest bit of each byte that is 0; of a byte above one, perhaps, though it is not.
  static uint64_t zeros(uint64_t bytes) { return (bytes - kOnes) & ~bytes & kOnes << 7; }
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static uint64_t hash_of(uint64_t key) { return (key ^ key >> 29) * 0x9e3779b97f4a7c15u; }
  // Of the bits after those of the group; never 0, which is an empty place.
  uint64_t tag(uint64_t hash) const { return (hash >> (shift_ - 7) & 0x7f) | 0x80; }

  std::vector<uint64_t> tags_;  // by group
  std::vector<Entry> entries_;  // at most half of them in use
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
