// SPDX-License-Identifier: Apache-2.0
//
// Like unicode_tables.h, what Hugging Face's tokenizers 0.23.2 know about each Unicode scalar, but
// for the normalizers of SentencePiece models.
#pragma once

#include <cstdint>
#include <string_view>

namespace bert::tokenizer::unicode {

enum TextFlags : uint8_t {
  kExtends = 1,       // no grapheme ends before it: Extend, SpacingMark, ZWJ
  kPrepends = 2,      // none ends after it: Prepend
  kControl = 4,       // a grapheme of its own, except in CR LF; known only below U+10000
  kPictographic = 8,  // joins another after a ZWJ: Extended_Pictographic
  kMark = 16,         // Mn, Mc, Me: StripAccents removes it
  kCompatible = 32,   // its NFKD differs from its NFD
  kLetter = 64,       // \p{L}, as their Oniguruma sees it
  kNumber = 128,      // \p{N}; its \s is unicode_tables.h's kSpace
};

// TextFlags. c is a Unicode scalar.
uint8_t text_flags(char32_t c);
// The full compatibility decomposition if it differs from the canonical one, else empty.
std::u32string_view compatible_decomposition(char32_t c);
// What the two compose to, or 0. Not for Hangul, which is composed by arithmetic.
char32_t composition(char32_t first, char32_t second);

}  // namespace bert::tokenizer::unicode
