// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace bert::tokenizer {

// The pairs of neighbouring scalars between which a merge can join two tokens. Most pairs are not
// among them, so words can be cut there. It is asked for every scalar of a text, so letters have a
// matrix of bits, whose parts for one script are small, and all else has a Bloom filter with about
// one false positive in 250.
class ScalarJoints {
 public:
  using Pair = std::pair<char32_t, char32_t>;

  // pairs: any number of times each.
  explicit ScalarJoints(std::span<const Pair> pairs = {}) : letters_(kLetters * kLetters / 64) {
    std::unordered_set<uint64_t> others;
    for (const auto& [left, right] : pairs) {
      if ((left | right) < kLetters) {
        set(letters_, left * kLetters + right);
      } else {
        others.insert(hash_of(left, right));
      }
    }
    others_.resize(std::bit_ceil(kBitsPerPair * others.size() / 64 + 1));
    shift_ = 64 - std::countr_zero(64 * others_.size());
    for (const uint64_t hash : others) {
      set(others_, first(hash));
      set(others_, second(hash));
    }
  }

  bool has(char32_t left, char32_t right) const {
    if ((left | right) < kLetters) return test(letters_, left * kLetters + right);
    const uint64_t hash = hash_of(left, right);
    return test(others_, first(hash)) && test(others_, second(hash));
  }

 private:
  static constexpr size_t kLetters = 0x800, kBitsPerPair = 32;
  using Bits = std::vector<uint64_t>;

  static void set(Bits& bits, size_t i) { bits[i / 64] |= uint64_t{1} << i % 64; }
  static bool test(const Bits& bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }
  static uint64_t hash_of(char32_t left, char32_t right) {
    return (static_cast<uint64_t>(left) << 21 | right) * 0x9e3779b97f4a7c15u;
  }
  size_t first(uint64_t hash) const { return hash >> shift_; }
  size_t second(uint64_t hash) const { return (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9u >> shift_; }

  Bits letters_;  // of scalars below kLetters, the most that UTF-8 has in two bytes
  Bits others_;   // by hash
  int shift_ = 0;
};

}  // namespace bert::tokenizer
