// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/double_array.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace bert::tokenizer {

namespace {
constexpr uint32_t kBlock = 256;
// Units are only looked for in the last blocks: earlier ones are nearly full, and going over them
// again for every node would make building quadratic.
constexpr uint32_t kOpenBlocks = 16;
}  // namespace

// Block 0 holds the root alone, so base 0, which leaves have, leads nowhere.
class DoubleArray::Builder {
 public:
  Builder(std::vector<Unit>& units, std::vector<Entry>& entries)
      : units_(units), entries_(entries) {}

  void build() {
    units_.assign(kBlock, {});
    used_base_.assign(kBlock, true);
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.key < b.key; });
    std::vector<Range> open = {{0, entries_.size(), 0, kRoot}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      expand(range, open);
    }
  }

 private:
  struct Range {  // entries [begin, end) share their first `depth` bytes, which lead to `node`
    size_t begin, end, depth;
    uint32_t node;
  };

  void expand(Range range, std::vector<Range>& open) {
    while (range.begin < range.end && entries_[range.begin].key.size() == range.depth) {
      units_[range.node].value = entries_[range.begin++].value;
    }
    std::array<uint8_t, kBlock> labels;
    std::array<size_t, kBlock + 1> begins;
    size_t count = 0;
    for (size_t i = range.begin; i < range.end; ++i) {
      const auto label = static_cast<uint8_t>(entries_[i].key[range.depth]);
      if (count > 0 && labels[count - 1] == label) continue;
      labels[count] = label;
      begins[count++] = i;
    }
    if (count == 0) return;
    begins[count] = range.end;
    const uint32_t base = place({labels.data(), count});
    units_[range.node].link = base << kLabelBits | (units_[range.node].link & kLabelMask);
    for (size_t i = 0; i < count; ++i) {
      units_[base ^ labels[i]].link = labels[i];
      open.push_back({begins[i], begins[i + 1], range.depth + 1, base ^ labels[i]});
    }
  }

  // A base whose units for all labels are free. Those units are free no more.
  uint32_t place(std::span<const uint8_t> labels) {
    const auto size = static_cast<uint32_t>(units_.size());
    const uint32_t first =
        std::max(kBlock, size > kOpenBlocks * kBlock ? size - kOpenBlocks * kBlock : 0);
    for (uint32_t unit = std::max(first, next_free_); unit < size; ++unit) {
      if (!free(unit)) continue;
      const uint32_t base = unit ^ labels[0];
      if (!used_base_[base] && fits(base, labels)) return take(base, labels);
    }
    if (size + kBlock > 1u << (32 - kLabelBits))
      throw std::length_error("too many nodes in a trie");
    units_.resize(size + kBlock);
    used_base_.resize(size + kBlock, false);
    return take(size ^ labels[0], labels);
  }

  bool free(uint32_t unit) const { return units_[unit].link == kNoLabel; }
  bool fits(uint32_t base, std::span<const uint8_t> labels) const {
    return std::all_of(labels.begin(), labels.end(),
                       [&](uint8_t label) { return free(base ^ label); });
  }
  uint32_t take(uint32_t base, std::span<const uint8_t> labels) {
    used_base_[base] = true;
    for (const uint8_t label : labels) units_[base ^ label].link = label;
    while (next_free_ < units_.size() && !free(next_free_)) ++next_free_;
    return base;
  }

  std::vector<Unit>& units_;
  std::vector<Entry>& entries_;
  std::vector<bool> used_base_;
  uint32_t next_free_ = kBlock;  // no unit before it is free, block 0 aside
};

DoubleArray::DoubleArray(std::vector<Entry> entries) {
  Builder(units_, entries).build();
  for (const Unit& unit : units_) count_ += unit.value != kNone;
}

}  // namespace bert::tokenizer
