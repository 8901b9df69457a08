// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode/utf8.h"

#include <cstring>

namespace bert::tokenizer::utf8 {

size_t first_invalid(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    char32_t ignored;
    const size_t length = decode_checked(text, at, ignored);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

size_t broken_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const int lead = byte(at);
  if (lead < 0xc2 || lead > 0xf4) return 1;
  const int least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const int most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(at + 1) < least || byte(at + 1) > most) return 1;
  size_t length = 2;
  while (at + length < text.size() && is_continuation(text[at + length])) ++length;
  const size_t whole = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return length < whole ? length : whole - 1;
}

}  // namespace bert::tokenizer::utf8
