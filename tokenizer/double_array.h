// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

// A trie of byte strings as a double array (Aoe 1989): the child of node n under byte b is unit
// base(n) ^ b if that unit carries the label b. As no two nodes share a base, no more need be
// checked.
class DoubleArray {
 public:
  struct Entry {
    std::string_view key;
    int32_t value;  // >= 0
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  DoubleArray() : DoubleArray(std::vector<Entry>()) {}
  // Of entries with the same key, the last one counts. Throws std::length_error above eight million
  // nodes.
  explicit DoubleArray(std::vector<Entry> entries);

  // The child of `node` under `byte`; false where there is none.
  bool step(uint32_t& node, char byte) const {
    const auto label = static_cast<uint8_t>(byte);
    const uint32_t child = (units_[node].link >> kLabelBits) ^ label;
    if ((units_[child].link & kLabelMask) != label) return false;
    node = child;
    return true;
  }
  bool walk(uint32_t& node, std::string_view bytes) const {
    for (const char byte : bytes) {
      if (!step(node, byte)) return false;
    }
    return true;
  }
  int32_t value(uint32_t node) const { return units_[node].value; }
  int32_t count() const { return count_; }  // of different keys

  struct Match {
    int32_t value = kNone;
    size_t length = 0;
  };
  // The longest key of at least one byte that text begins with, below `node`.
  Match longest_prefix(uint32_t node, std::string_view text) const {
    Match match;
    for (size_t i = 0; i < text.size() && step(node, text[i]); ++i) {
      if (value(node) != kNone) match = {value(node), i + 1};
    }
    return match;
  }

 private:
  static constexpr int kLabelBits = 9;
  static constexpr uint32_t kLabelMask = (1u << kLabelBits) - 1;
  static constexpr uint32_t kNoLabel = 256;  // matches no byte: unused units and the root
  struct Unit {
    uint32_t link = kNoLabel;  // base << kLabelBits | label
    int32_t value = kNone;
  };
  class Builder;
  std::vector<Unit> units_;
  int32_t count_ = 0;
};

}  // namespace bert::tokenizer
