// SPDX-License-Identifier: Apache-2.0
//
// Hangul syllables are composed and decomposed by arithmetic (Unicode 15, section 3.12): syllable =
// kHangul + ((lead - kLead) * kVowels + (vowel - kVowel)) * kTrails + (trail - kTrail), where a
// trail of kTrail itself stands for none.
#pragma once

namespace bert::tokenizer::unicode {

constexpr char32_t kHangul = 0xac00, kLeads = 19, kVowels = 21, kTrails = 28;
constexpr char32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11a7;
constexpr char32_t kSyllables = kLeads * kVowels * kTrails;
inline bool is_syllable(char32_t c) { return c - kHangul < kSyllables; }

}  // namespace bert::tokenizer::unicode
