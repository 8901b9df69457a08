// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/utf8.h"

#include <cstring>

namespace bert::tokenizer::utf8 {
namespace {

// The length of the well-formed sequence at `p`, at least one and at most `left` bytes, or 0.
size_t sequence_length(const uint8_t* p, size_t left) {
  const auto tail = [&](size_t i) { return i < left && (p[i] & 0xc0) == 0x80; };
  const auto in = [&](uint8_t low, uint8_t high) {
    return left > 1 && p[1] >= low && p[1] <= high;
  };
  if (p[0] < 0x80) return 1;
  if (p[0] < 0xc2) return 0;
  if (p[0] < 0xe0) return tail(1) ? 2 : 0;
  if (p[0] < 0xf0) {  // neither overlong nor a surrogate
    return in(p[0] == 0xe0 ? 0xa0 : 0x80, p[0] == 0xed ? 0x9f : 0xbf) && tail(2) ? 3 : 0;
  }
  if (p[0] > 0xf4) return 0;
  return in(p[0] == 0xf0 ? 0x90 : 0x80, p[0] == 0xf4 ? 0x8f : 0xbf) && tail(2) && tail(3) ? 4 : 0;
}

}  // namespace

size_t first_invalid(std::string_view text) {
  const auto* const p = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, p + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = sequence_length(p + at, text.size() - at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace bert::tokenizer::utf8
