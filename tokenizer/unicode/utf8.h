// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bert::tokenizer::utf8 {

inline bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

// Decodes the scalar c at text[at]. Returns its length, or 0 if it is not well-formed UTF-8
// (Unicode 15, table 3-7).
[[gnu::always_inline]] inline size_t decode_checked(std::string_view text, size_t at, char32_t& c) {
  const size_t left = text.size() - at;
  const auto bits = [&](size_t i) { return static_cast<char32_t>(text[at + i] & 0x3f); };
  const auto tail = [&](size_t i) { return is_continuation(text[at + i]); };
  const char32_t lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) {
    c = lead;
    return 1;
  }
  if (lead < 0xe0) {
    if (left < 2 || !tail(1)) return 0;
    c = (lead & 0x1f) << 6 | bits(1);
    return lead >= 0xc2 ? 2 : 0;
  }
  if (lead < 0xf0) {
    if (left < 3 || !tail(1) || !tail(2)) return 0;
    c = (lead & 0x0f) << 12 | bits(1) << 6 | bits(2);
    return c >= 0x800 && (c < 0xd800 || c >= 0xe000) ? 3 : 0;
  }
  if (left < 4 || lead > 0xf4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  c = (lead & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
  return c >= 0x10000 && c <= 0x10ffff ? 4 : 0;
}

// How many bytes at text[at], where no well-formed UTF-8 begins, count as one error: the longest
// beginning of a character, or one byte (Unicode 15, section 3.9, "maximal subparts").
size_t broken_length(std::string_view text, size_t at);

// The position of the first byte that is not part of well-formed UTF-8, or npos.
size_t first_invalid(std::string_view text);

// The functions below require well-formed UTF-8.

inline size_t count_scalars(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += !is_continuation(byte);
  return count;
}

// Decodes the scalar at `at`, and moves `at` past it.
inline char32_t decode(const char* text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  const char32_t lead = byte(at);
  if (lead < 0x80) return at += 1, lead;
  if (lead < 0xe0) return at += 2, (lead & 0x1f) << 6 | (byte(at - 1) & 0x3f);
  if (lead < 0xf0) {
    at += 3;
    return (lead & 0x0f) << 12 | (byte(at - 2) & 0x3f) << 6 | (byte(at - 1) & 0x3f);
  }
  at += 4;
  return (lead & 0x07) << 18 | (byte(at - 3) & 0x3f) << 12 | (byte(at - 2) & 0x3f) << 6 |
         (byte(at - 1) & 0x3f);
}

// The scalar that ends before `end` > 0.
inline char32_t decode_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (is_continuation(text[at])) --at;
  return decode(text.data(), at);
}

// Writes c to `out`, which has room for four bytes; returns the number written.
inline size_t encode(char32_t c, char* out) {
  const auto put = [&](int i, char32_t bits) { out[i] = static_cast<char>(bits); };
  if (c < 0x80) return put(0, c), 1;
  if (c < 0x800) return put(0, 0xc0 | c >> 6), put(1, 0x80 | (c & 0x3f)), 2;
  if (c < 0x10000) {
    put(0, 0xe0 | c >> 12), put(1, 0x80 | (c >> 6 & 0x3f)), put(2, 0x80 | (c & 0x3f));
    return 3;
  }
  put(0, 0xf0 | c >> 18), put(1, 0x80 | (c >> 12 & 0x3f)), put(2, 0x80 | (c >> 6 & 0x3f));
  put(3, 0x80 | (c & 0x3f));
  return 4;
}

}  // namespace bert::tokenizer::utf8
