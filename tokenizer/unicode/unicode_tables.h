// SPDX-License-Identifier: Apache-2.0
//
// What Hugging Face's tokenizers 0.23.2 know about each Unicode scalar. The tables match no single
// edition of the standard; tools/unicode/make_unicode_tables.mjs explains why and makes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace bert::tokenizer::unicode {

enum Flags : uint8_t {
  kDropped = 1,      // clean_text removes it: control, format, private use, U+FFFD
  kSpace = 2,        // White_Space
  kPunctuation = 4,  // a word of its own
  kChinese = 8,      // handle_chinese_chars puts spaces around it
  kNonspacing = 16,  // Mn: strip_accents removes it
  kWord = 32,        // \w: next to it, a single_word token does not match
  kMapped = 64,      // it has a lower-case form or a decomposition
  kNumeric = 128,    // Nd, Nl, No as Digits sees them: newer than text_tables.h's kNumber
};

struct Property {
  uint8_t flags;
  uint8_t rank;  // of its canonical combining class among all classes; 0 for starters
};

// c is a Unicode scalar.
Property property(char32_t c);
inline bool is_space(char32_t c) { return property(c).flags & kSpace; }
// What Python's isspace() and \s find.
inline bool is_python_space(char32_t c) { return is_space(c) || (c >= 0x1c && c <= 0x1f); }
inline bool is_numeric(char32_t c) { return property(c).flags & kNumeric; }
// The first scalar of the lower-case form, which is longer only for U+0130 (U+0069 U+0307).
char32_t to_lower(char32_t c);
// The full canonical decomposition, or empty. Not for Hangul syllables, which are decomposed by
// arithmetic.
std::u32string_view decomposition(char32_t c);

}  // namespace bert::tokenizer::unicode
