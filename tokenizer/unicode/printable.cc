// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

// Appends the first character of a non-empty text; returns how many bytes it has in the text.
size_t append_printable(std::string_view text, std::string& out) {
  char32_t c = 0;
  const size_t length = utf8::decode_checked(text, 0, c);
  if (length == 0) {
    out += fmt::format("\\x{:02x}", static_cast<uint8_t>(text.front()));
    return 1;
  }
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x80 && is_hidden(c)) {
    out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
  } else if (is_hidden(c)) {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  } else {
    out += text.substr(0, length);
  }
  return length;
}

// As many whole characters as fit.
std::string_view beginning_of(std::string_view text, size_t most) {
  while (most > 0 && utf8::is_continuation(text[most])) --most;
  return text.substr(0, most);
}

std::string_view end_of(std::string_view text, size_t most) {
  size_t begin = text.size() - most;
  while (begin < text.size() && utf8::is_continuation(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace

bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

std::string printable(std::string_view text, size_t most) {
  std::string all;
  // In a text of megabytes, looks only at what may be shown.
  const bool is_long = text.size() / 2 > most;
  std::string_view rest = is_long ? text.substr(0, most) : text;
  while (!rest.empty()) rest.remove_prefix(append_printable(rest, all));
  if (is_long) {
    all += "...";
    rest = text.substr(text.size() - most);
    while (!rest.empty()) rest.remove_prefix(append_printable(rest, all));
  }
  if (all.size() <= most) return all;
  const size_t end = most / 3;
  return fmt::format("{}...{}", beginning_of(all, most - end), end_of(all, end));
}

std::string printable_lines(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    all += printable(text.substr(0, end));
    if (end < text.size()) all += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace bert::tokenizer
