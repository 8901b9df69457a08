// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bert::tokenizer {

// A hash table of pairs of tokens and the rank at which each is merged.
class MergeTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Has room for this many pairs.
  explicit MergeTable(size_t pairs)
      : entries_(std::bit_ceil(2 * pairs + 2)),
        mask_(entries_.size() - 1),
        shift_(64 - std::countr_zero(entries_.size())) {}

  // Of equal pairs the last one counts.
  void insert(int32_t left, int32_t right, uint32_t rank) {
    entries_[place(key(left, right))] = {key(left, right), rank};
  }
  // kNone if the two are not merged.
  uint32_t rank(int32_t left, int32_t right) const {
    return entries_[place(key(left, right))].rank;
  }

 private:
  struct Entry {
    uint64_t key = ~uint64_t{0};  // of no pair, as ids are not negative
    uint32_t rank = kNone;
  };

  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t key) const {
    size_t i = (key ^ key >> 29) * 0x9e3779b97f4a7c15u >> shift_;
    while (entries_[i].key != key && entries_[i].key != ~uint64_t{0}) i = (i + 1) & mask_;
    return i;
  }

  std::vector<Entry> entries_;  // at most half of them in use
  size_t mask_;
  int shift_;
};

}  // namespace bert::tokenizer
