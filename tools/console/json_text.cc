// SPDX-License-Identifier: Apache-2.0
#include "tools/console/json_text.h"

#include <iterator>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tools {
namespace {

void append_escaped(std::string& line, char32_t c) {
  constexpr char32_t kBeyond = 0x10000;
  if (c == '\n') {
    line += "\\n";
  } else if (c == '\t') {
    line += "\\t";
  } else if (c == '\r') {
    line += "\\r";
  } else if (c < kBeyond) {
    fmt::format_to(std::back_inserter(line), "\\u{:04x}", static_cast<uint32_t>(c));
  } else {
    const auto bits = static_cast<uint32_t>(c - kBeyond);
    fmt::format_to(std::back_inserter(line), "\\u{:04x}\\u{:04x}", 0xd800 + (bits >> 10),
                   0xdc00 + (bits & 0x3ff));
  }
}

}  // namespace

void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const size_t length = tokenizer::utf8::decode_checked(text, at, c);
    if (length == 0) {
      line += "\uFFFD";
    } else if (tokenizer::is_hidden(c)) {
      append_escaped(line, c);
    } else {
      if (c == '"' || c == '\\') line += '\\';
      line += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  line += '"';
}

void append_json(std::string& line, const nlohmann::ordered_json& value) {
  const char* separator = "";
  if (value.is_object()) {
    line += '{';
    for (const auto& [key, member] : value.items()) {
      line += separator;
      append_quoted(line, key);
      line += ": ";
      append_json(line, member);
      separator = ", ";
    }
    line += '}';
  } else if (value.is_array()) {
    line += '[';
    for (const auto& element : value) {
      line += separator;
      append_json(line, element);
      separator = ", ";
    }
    line += ']';
  } else if (value.is_string()) {
    append_quoted(line, value.get_ref<const std::string&>());
  } else {
    line += value.dump();
  }
}

}  // namespace bert::tools
