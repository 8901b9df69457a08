// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// A trie of byte strings as a double array (Aoe 1989): the child of a node for byte b is unit
// base ^ b, if that unit's label is b. If only one key is left below a node, the rest of it is
// stored not as nodes but as a tail, which is compared in one go.
class DoubleArray {
 public:
  struct Entry {
    std::string_view key;
    int32_t value;  // >= 0
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  DoubleArray() : DoubleArray({}, {}) {}
  // Of entries with the same key, the last one counts. An empty key is never found. start: a string
  // from whose end searches may start, if a key continues it.
  DoubleArray(std::span<const Entry> entries, std::string_view start);

  // The node to search from for what follows `start`; kRoot if start is empty or begins no key.
  uint32_t start() const { return start_; }
  int32_t count() const { return count_; }  // of distinct non-empty keys

  struct Match {
    int32_t value = kNone;
    size_t length = 0;
  };
  // The longest key below `node` that the text begins with.
  Match longest_prefix(uint32_t node, std::string_view text) const {
    uint32_t unit = units_[node], best = kRoot;
    size_t length = 0;
    for (size_t i = 0; i < text.size();) {
      const auto label = static_cast<uint8_t>(text[i]);
      node = unit >> kBaseShift ^ label;
      unit = units_[node];
      if ((unit & kLabelMask) != label) break;
      ++i;
      if (unit & kHasValue) best = node, length = i;
      if (unit & kHasTail) {
        const Tail& tail = tails_[static_cast<size_t>(values_[node])];
        if (tail_matches(unit, tail, text, i)) return {tail.value, i + tail.size};
        break;
      }
    }
    return {length == 0 ? kNone : values_[best], length};
  }
  // Calls found(value, length) for each key that the text begins with, shortest first. Defined in
  // all_prefixes.h.
  template <class Found>
  void for_each_prefix(std::string_view text, Found&& found) const;
  int32_t find(std::string_view key) const {
    const Match match = longest_prefix(kRoot, key);
    return match.length == key.size() ? match.value : kNone;
  }

 private:
  // base << kBaseShift | flags | label. The base of a node with a tail is the tail's first byte.
  using Unit = uint32_t;
  static constexpr Unit kLabelMask = 0xff, kHasValue = 1 << 8, kHasTail = 1 << 9;
  static constexpr int kBaseShift = 10;
  struct Tail {
    uint32_t begin, size;  // in tail_bytes_
    int32_t value;
  };
  class Builder;

  bool tail_matches(Unit unit, const Tail& tail, std::string_view text, size_t at) const {
    if (at == text.size() || static_cast<uint8_t>(text[at]) != unit >> kBaseShift) return false;
    return text.substr(at, tail.size) ==
           std::string_view(tail_bytes_.data() + tail.begin, tail.size);
  }

  std::vector<Unit> units_;
  std::vector<int32_t> values_;  // by node: its value, or the index of its tail
  std::vector<Tail> tails_;
  std::string tail_bytes_;
  uint32_t start_ = kRoot;
  int32_t count_ = 0;
};

}  // namespace bert::tokenizer
