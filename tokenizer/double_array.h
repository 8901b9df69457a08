// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// A trie of byte strings as a double array (Aoe 1989): the child of a node under byte b is unit
// base ^ b if that unit names the node as its parent. Where one key alone is left below a node, the
// rest of it is not nodes but a tail, compared at once.
class DoubleArray {
 public:
  struct Entry {
    std::string_view key;
    int32_t value;  // >= 0
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  DoubleArray() : DoubleArray({}, {}) {}
  // Of entries with the same key, the last one counts. An empty key is never found.
  // start: a string after which searches may start, if a key goes on after it.
  DoubleArray(std::span<const Entry> entries, std::string_view start);

  // Where to search for what comes after `start`; kRoot where that is empty or begins no key.
  uint32_t start() const { return start_; }
  int32_t count() const { return count_; }  // of different keys that are not empty

  struct Match {
    int32_t value = kNone;
    size_t length = 0;
  };
  // The longest key that text begins with, below `node`.
  Match longest_prefix(uint32_t node, std::string_view text) const {
    Match best;
    for (size_t i = 0; i < text.size();) {
      const uint32_t child = child_of(node, text[i]);
      if (units_[child].parent != node) break;
      node = child;
      ++i;
      const Unit unit = units_[node];
      if (unit.link & kHasValue) best = {unit.value, i};
      if (unit.link & kHasTail) return match_tail(unit, text, i, best);
    }
    return best;
  }
  int32_t find(std::string_view key) const {
    const Match match = longest_prefix(kRoot, key);
    return match.length == key.size() ? match.value : kNone;
  }

 private:
  static constexpr uint32_t kNoParent = ~uint32_t{0};
  static constexpr uint32_t kHasValue = 1,
                            kHasTail = 2;  // values_[node] is a value, an index of tails_
  static constexpr int kFlagBits = 2;
  struct Unit {
    uint32_t link = 0;  // base << kFlagBits | flags; for the base, a node with a tail has its first byte
    uint32_t parent = kNoParent;
    int32_t value = kNone;  // or the index of the tail
  };
  struct Tail {
    uint32_t begin, size;  // in tail_bytes_
    int32_t value;
  };
  class Builder;

  uint32_t child_of(uint32_t node, char byte) const {
    return (units_[node].link >> kFlagBits) ^ static_cast<uint8_t>(byte);
  }
  Match match_tail(const Unit& unit, std::string_view text, size_t at, Match otherwise) const {
    if (at == text.size() || static_cast<uint8_t>(text[at]) != unit.link >> kFlagBits) return otherwise;
    const Tail& tail = tails_[static_cast<size_t>(unit.value)];
    const std::string_view bytes(tail_bytes_.data() + tail.begin, tail.size);
    return text.substr(at, tail.size) == bytes ? Match{tail.value, at + tail.size} : otherwise;
  }

  std::vector<Unit> units_;
  std::vector<Tail> tails_;
  std::string tail_bytes_;
  uint32_t start_ = kRoot;
  int32_t count_ = 0;
};

}  // namespace bert::tokenizer
