// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bert::tokenizer {

// A hash table of pairs of tokens, and what each is merged to.
class MergeTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Merge {
    uint32_t rank = kNone;
    int32_t whole = -1;
  };

  // Has room for this many pairs.
  explicit MergeTable(size_t pairs)
      : tags_(std::bit_ceil(2 * pairs + 2)),
        entries_(tags_.size()),
        mask_(tags_.size() - 1),
        shift_(64 - std::countr_zero(tags_.size())) {}

  // Of equal pairs the last one counts.
  void insert(int32_t left, int32_t right, Merge merge) {
    const uint64_t hash = hash_of(key(left, right));
    size_t i = hash >> shift_;
    while (tags_[i] != 0 && entries_[i].key != key(left, right)) i = (i + 1) & mask_;
    tags_[i] = tag(hash);
    entries_[i] = {key(left, right), merge};
  }
  // Its rank is kNone if the two are not merged.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t hash = hash_of(key(left, right));
    for (size_t i = hash >> shift_; tags_[i] != 0; i = (i + 1) & mask_) {
      if (tags_[i] == tag(hash) && entries_[i].key == key(left, right)) return entries_[i].merge;
    }
    return {};
  }

 private:
  struct Entry {
    uint64_t key;
    Merge merge;
  };

  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static uint64_t hash_of(uint64_t key) { return (key ^ key >> 29) * 0x9e3779b97f4a7c15u; }
  uint8_t tag(uint64_t hash) const {  // of the bits after those of the place
    return static_cast<uint8_t>(hash >> (shift_ - 7) & 0x7f) | 0x80;
  }

  // 0: no entry. Most pairs are not merged, and tags, which stay in a cache, say so.
  std::vector<uint8_t> tags_;
  std::vector<Entry> entries_;  // at most half of them in use
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
