// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

namespace bert::tools::serve {

// The bytes of the numbers, little-endian.
inline std::string base64_of(std::span<const float> values) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t bytes = 4 * values.size();
  const auto byte = [&](size_t i) -> uint32_t {
    return i < bytes ? std::bit_cast<uint32_t>(values[i / 4]) >> (8 * (i % 4)) & 0xff : 0;
  };
  std::string text;
  text.reserve((bytes + 2) / 3 * 4);
  for (size_t i = 0; i < bytes; i += 3) {
    const uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kDigits[bits >> 18];
    text += kDigits[bits >> 12 & 63];
    text += i + 1 < bytes ? kDigits[bits >> 6 & 63] : '=';
    text += i + 2 < bytes ? kDigits[bits & 63] : '=';
  }
  return text;
}

}  // namespace bert::tools::serve
