// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's view of text as bytes (Radford 2019), as implemented by Hugging Face's ByteLevel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bert::tokenizer {

// The character that represents each byte in a vocabulary: the byte itself if it is printable in
// Latin-1, otherwise U+0100 and up, in the order of the bytes. U+0120 is the space.
const std::array<char16_t, 256>& byte_characters();
// The bytes that a token stands for; nothing if it has other characters. The bytes are UTF-8, but
// well-formed only over a whole text.
std::optional<std::string> bytes_of_token(std::string_view token);

// A piece of a text that ByteLevel's expression matches:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct BytePiece {
  size_t end;
  int32_t scalars;  // how many it has
};
// The piece that begins at text[at]; its end is `at` if that is not well-formed UTF-8.
// single_digits: each digit is a piece of its own, as with Digits before ByteLevel (StarCoder's
// tokenizer).
BytePiece next_byte_piece(std::string_view text, size_t at, bool single_digits = false);

// The expressions of the Split before ByteLevel in the tokenizers of Llama 3 (up to three digits)
// and of Qwen (one).
constexpr std::string_view kThreeDigitsExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigitExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The same for a piece that one of these matches.
BytePiece next_split_piece(std::string_view text, size_t at, int most_digits);

}  // namespace bert::tokenizer
