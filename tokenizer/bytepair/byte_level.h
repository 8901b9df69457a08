// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's view of text as bytes (Radford 2019), as Hugging Face's ByteLevel has it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bert::tokenizer {

// The character that stands for each byte in a vocabulary: itself if it is printable in Latin-1,
// else U+0100 and those after it, in the order of the bytes. U+0120 is the space.
const std::array<char16_t, 256>& byte_characters();
// The bytes that a token stands for; nothing if it has other characters. UTF-8 in and out, well
// formed only as a whole text.
std::optional<std::string> bytes_of_token(std::string_view token);

// A piece of a text that ByteLevel's expression matches:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct BytePiece {
  size_t end;
  int32_t scalars;  // in it
};
// The piece that begins at text[at]; its end is `at` if that is not well-formed UTF-8.
// single_digits: each digit is a piece, whatever is beside it, as with a Digits before ByteLevel
// (StarCoder's tokenizer).
BytePiece next_byte_piece(std::string_view text, size_t at, bool single_digits = false);

// The expressions of the Split before ByteLevel in the tokenizers of Llama 3 and of Qwen, for three
// digits and for one.
constexpr std::string_view kThreeDigitsExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigitExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The same of a piece that one of them matches.
BytePiece next_split_piece(std::string_view text, size_t at, int most_digits);

}  // namespace bert::tokenizer
