// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bert::tokenizer {

// A word of 1 to kMaxSize bytes as a key that is compared and hashed in one go.
struct ShortWord {
  static constexpr size_t kMaxSize = 16;

  uint64_t low = 0, high = 0;
  uint32_t size = 0;

  static ShortWord of(std::string_view word) {
    char bytes[kMaxSize] = {};
    std::memcpy(bytes, word.data(), word.size());
    return padded(bytes, word.size());
  }
  // kMaxSize bytes must be readable at `word`.
  static ShortWord padded(const char* word, size_t size) {
    static_assert(std::endian::native == std::endian::little);
    ShortWord out{0, 0, static_cast<uint32_t>(size)};
    std::memcpy(&out.low, word, sizeof out.low);
    std::memcpy(&out.high, word + sizeof out.low, sizeof out.high);
    out.low &= low_bytes(size);
    out.high &= low_bytes(size < 8 ? 0 : size - 8);
    return out;
  }

  bool operator==(const ShortWord& other) const {
    return ((low ^ other.low) | (high ^ other.high) | (size ^ other.size)) == 0;
  }
  uint64_t hash() const {
    const uint64_t mixed = (low ^ high * 0x9e3779b97f4a7c15u) + size;
    return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  }

 private:
  static uint64_t low_bytes(size_t count) {
    return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * count) - 1;
  }
};

}  // namespace bert::tokenizer
