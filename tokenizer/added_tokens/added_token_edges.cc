// SPDX-License-Identifier: Apache-2.0
//
// What is next to an added token in the text: word characters, and white space that it strips.
#include "tokenizer/added_tokens/added_tokens.h"
#include "tokenizer/token_sequence.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

bool is_word(char32_t c) { return unicode::property(c).flags & unicode::kWord; }

}  // namespace

size_t space_before(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    size_t begin = end - 1;
    while (utf8::is_continuation(text[begin])) --begin;
    if (!unicode::is_space(utf8::decode_before(text, end))) break;
    end = begin;
  }
  return end;
}

size_t space_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    size_t next = begin;
    if (!unicode::is_space(utf8::decode(text.data(), next))) break;
    begin = next;
  }
  return begin;
}

bool AddedTokenMatcher::stands_alone(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0 && is_word(utf8::decode_before(text, begin))) return false;
  return end == text.size() || !is_word(utf8::decode(text.data(), end));
}

void TokenSequence::push_added(int32_t id, int32_t begin, int32_t end, std::string_view text) {
  complete = complete && !full;
  if (!complete) return;
  reserve(1);
  if (notes.of_words) notes.added.push_back(size);
  notes.spell(size, text);
  push(id, begin, end);
}

}  // namespace bert::tokenizer
