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

}  // namespace bert::tokenizer::utf8
