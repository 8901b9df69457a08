// SPDX-License-Identifier: Apache-2.0
#include "models/weights/tensorflow/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace bert::models {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // bits in reverse order
constexpr uint32_t kMaskDelta = 0xa282ead8;   // LevelDB's

// tables[k][b]: the remainder of byte b with k zero bytes after it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t remainder = b;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = remainder >> 1 ^ (remainder & 1 ? kPolynomial : 0);
    }
    tables[0][b] = remainder;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = before >> 8 ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

uint64_t load_word(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t by_instruction(std::span<const std::byte> bytes) {
  uint64_t remainder = ~uint32_t{0};
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) remainder = _mm_crc32_u64(remainder, load_word(&bytes[i]));
  auto rest = static_cast<uint32_t>(remainder);
  for (; i < bytes.size(); ++i) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(bytes[i]));
  return ~rest;
}
#endif

}  // namespace

uint32_t crc32c_portable(std::span<const std::byte> bytes) {
  uint32_t remainder = ~uint32_t{0};
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = load_word(&bytes[i]) ^ remainder;
    remainder = 0;
    for (size_t k = 0; k < 8; ++k) remainder ^= kTables[7 - k][word >> 8 * k & 255];
  }
  for (; i < bytes.size(); ++i) {
    remainder = remainder >> 8 ^ kTables[0][(remainder ^ static_cast<uint8_t>(bytes[i])) & 255];
  }
  return ~remainder;
}

uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(bytes);
#endif
  return crc32c_portable(bytes);
}

uint32_t unmasked_crc32c(uint32_t stored) { return std::rotl(stored - kMaskDelta, 15); }

}  // namespace bert::models
