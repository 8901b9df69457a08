// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/double_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace bert::tokenizer {

namespace {

constexpr uint32_t kBlockUnits = 256;
// How many free units to try for a node's first child before opening a new block.
constexpr int kTries = 128;

// The first eight bytes, as a number that sorts like the string.
uint64_t prefix(std::string_view key) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, key.data(), std::min(key.size(), sizeof bytes));
  if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
  return bytes;
}

}  // namespace

// Block 0 holds the root alone; base 0, which nodes without children have, leads nowhere.
class DoubleArray::Builder {
 public:
  Builder(DoubleArray& out, std::string_view start)
      : out_(out), units_(out.units_), start_(start) {}

  void build(std::span<const Entry> entries) {
    sort(entries);
    open_block();
    add({0, sorted_.size(), 0, kRoot});
    // Nodes with many children are hard to place, so they come first; a single child fits anywhere
    // and fills the gaps.
    while (!many_children_.empty() || !one_child_.empty()) {
      std::vector<Range>& next = many_children_.empty() ? one_child_ : many_children_;
      const Range range = next.back();
      next.pop_back();
      expand(range);
    }
    label_free_units();
  }

 private:
  struct Key {
    uint64_t prefix;
    std::string_view bytes;
    int32_t value;
  };
  struct Item {
    uint64_t prefix;
    uint32_t entry;
  };
  struct Range {  // keys [begin, end) share their first `depth` bytes, which lead to `node`
    size_t begin, end, depth;
    uint32_t node;
  };
  struct Links {
    uint32_t previous, next;
    bool free, used_base;
  };

  // A radix sort, as comparisons would take longer than all the rest; only keys with equal prefixes
  // are compared. Of equal keys, only the last one is kept.
  void sort(std::span<const Entry> entries) {
    std::vector<Item> items, other;
    for (uint32_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].key.empty()) items.push_back({prefix(entries[i].key), i});
    }
    other.resize(items.size());
    for (int shift = 0; shift < 64; shift += 8) {
      std::array<size_t, kBlockUnits + 1> begins{};
      for (const Item& item : items) ++begins[(item.prefix >> shift & 0xff) + 1];
      std::partial_sum(begins.begin(), begins.end(), begins.begin());
      for (const Item& item : items) other[begins[item.prefix >> shift & 0xff]++] = item;
      items.swap(other);
    }
    const auto comes_before = [&](const Item& a, const Item& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      const int order = entries[a.entry].key.compare(entries[b.entry].key);
      return order != 0 ? order < 0 : a.entry < b.entry;
    };
    for (auto begin = items.begin(), end = begin; begin != items.end(); begin = end) {
      const uint64_t shared = begin->prefix;
      while (end != items.end() && end->prefix == shared) ++end;
      if (end - begin < 2) continue;
      for (Item& item : std::span(begin, end)) {  // the eight bytes after the shared ones
        const std::string_view key = entries[item.entry].key;
        item.prefix = prefix(key.substr(std::min(key.size(), sizeof shared)));
      }
      std::sort(begin, end, comes_before);
      for (Item& item : std::span(begin, end)) item.prefix = shared;
    }
    sorted_.reserve(items.size());
    for (const Item& item : items) {
      const Entry& entry = entries[item.entry];
      const bool is_duplicate = !sorted_.empty() && sorted_.back().prefix == item.prefix &&
                                sorted_.back().bytes == entry.key;
      if (is_duplicate) sorted_.pop_back();
      sorted_.push_back({item.prefix, entry.key, entry.value});
    }
  }

  std::string_view key(size_t i) const { return sorted_[i].bytes; }
  uint8_t label(size_t i, size_t depth) const {
    return depth < sizeof(uint64_t) ? static_cast<uint8_t>(sorted_[i].prefix >> (56 - 8 * depth))
                                    : static_cast<uint8_t>(key(i)[depth]);
  }

  // Stores the value of the key that ends at range.node. The other keys become children, later, or
  // a tail.
  void add(Range range) {
    Unit& unit = units_[range.node];
    int32_t& value = out_.values_[range.node];
    const bool before_start =
        range.depth <= start_.size() && key_starts_with(range, start_.substr(0, range.depth));
    if (before_start && range.depth == start_.size()) out_.start_ = range.node;
    if (range.begin < range.end && key(range.begin).size() == range.depth) {
      ++out_.count_;
      unit |= kHasValue;
      value = sorted_[range.begin++].value;
    }
    if (range.begin == range.end) return;
    const bool is_last_key = range.end - range.begin == 1;
    if (is_last_key && (unit & kHasValue) == 0 && range.depth > 0 && !before_start) {
      return add_tail(range);
    }
    const bool one_child = label(range.begin, range.depth) == label(range.end - 1, range.depth);
    (one_child ? one_child_ : many_children_).push_back(range);
  }

  bool key_starts_with(const Range& range, std::string_view bytes) const {
    return range.begin < range.end && key(range.begin).starts_with(bytes);
  }

  void add_tail(const Range& range) {
    const std::string_view tail = key(range.end - 1).substr(range.depth);
    units_[range.node] |= static_cast<Unit>(static_cast<uint8_t>(tail[0])) << kBaseShift | kHasTail;
    out_.values_[range.node] = static_cast<int32_t>(out_.tails_.size());
    out_.tails_.push_back({static_cast<uint32_t>(out_.tail_bytes_.size()),
                           static_cast<uint32_t>(tail.size()), sorted_[range.end - 1].value});
    out_.tail_bytes_ += tail;
    ++out_.count_;
  }

  void expand(const Range& range) {
    std::array<uint8_t, kBlockUnits> labels;
    std::array<size_t, kBlockUnits + 1> begins;
    size_t count = 0;
    for (size_t i = range.begin; i < range.end; ++i) {
      const uint8_t next = label(i, range.depth);
      if (count > 0 && labels[count - 1] == next) continue;
      labels[count] = next;
      begins[count++] = i;
    }
    begins[count] = range.end;
    const uint32_t base = place({labels.data(), count});
    links_[base].used_base = true;
    units_[range.node] |= base << kBaseShift;
    for (size_t i = 0; i < count; ++i) {
      take(base ^ labels[i], labels[i]);
      add({begins[i], begins[i + 1], range.depth + 1, base ^ labels[i]});
    }
  }

  // Finds a base whose units for all labels are free.
  uint32_t place(std::span<const uint8_t> labels) {
    uint32_t unit = links_[kRoot].next;
    for (int i = 0; i < kTries && unit != kRoot; ++i, unit = links_[unit].next) {
      if (fits(unit ^ labels[0], labels)) return unit ^ labels[0];
    }
    return open_block() ^ labels[0];
  }

  bool fits(uint32_t base, std::span<const uint8_t> labels) const {
    return !links_[base].used_base && std::all_of(labels.begin(), labels.end(), [&](uint8_t next) {
      return links_[base ^ next].free;
    });
  }

  void take(uint32_t unit, uint8_t own_label) {
    units_[unit] = own_label;
    Links& links = links_[unit];
    links_[links.previous].next = links.next;
    links_[links.next].previous = links.previous;
    links.free = false;
  }

  // Prepends the units of a new block to the list of free ones, which begins and ends at the root.
  uint32_t open_block() {
    const auto begin = static_cast<uint32_t>(units_.size()), end = begin + kBlockUnits;
    if (end > 1u << (32 - kBaseShift)) throw std::length_error("too many nodes in a trie");
    units_.resize(end);
    out_.values_.resize(end, kNone);
    links_.resize(end);
    if (begin == kRoot) {
      links_[kRoot].used_base = true;
      return kRoot;
    }
    const uint32_t head = links_[kRoot].next;
    for (uint32_t unit = begin; unit < end; ++unit)
      links_[unit] = {unit - 1, unit + 1, true, false};
    links_[begin].previous = kRoot;
    links_[kRoot].next = begin;
    links_[end - 1].next = head;
    links_[head].previous = end - 1;
    return begin;
  }

  // Labels each free unit as if its parent had a base that is not in use, so that no search reaches
  // it. Each block has such a base: every base in use has a taken unit of its own.
  void label_free_units() {
    for (uint32_t begin = 0; begin < units_.size(); begin += kBlockUnits) {
      uint32_t base = begin;
      while (base + 1 < begin + kBlockUnits && links_[base].used_base) ++base;
      for (uint32_t unit = begin; unit < begin + kBlockUnits; ++unit) {
        if (begin == kRoot || links_[unit].free) units_[unit] |= (unit ^ base) & kLabelMask;
      }
    }
  }

  DoubleArray& out_;
  std::vector<Unit>& units_;
  const std::string_view start_;
  std::vector<Key> sorted_;
  std::vector<Range> many_children_, one_child_;  // to expand
  std::vector<Links> links_;
};

DoubleArray::DoubleArray(std::span<const Entry> entries, std::string_view start) {
  Builder(*this, start).build(entries);
}

}  // namespace bert::tokenizer
