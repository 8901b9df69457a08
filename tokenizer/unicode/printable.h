// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bert::tokenizer {

// Characters that a terminal obeys or hides instead of showing: control characters, those that
// change the direction of text, line and paragraph separators, and other invisible format
// characters.
bool is_hidden(char32_t c);

// Text for display: hidden characters, and bytes that are not UTF-8, are spelled out, as in \x1b,
// \n and \u202e. If longer than `most` bytes, the middle is left out.
std::string printable(std::string_view text, size_t most = std::string_view::npos);

// The same for several lines.
std::string printable_lines(std::string_view text);

// The limit for error messages, in bytes.
constexpr size_t kMostOfMessage = 600;

}  // namespace bert::tokenizer
