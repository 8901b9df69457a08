// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/character_tokens.h"

#include <algorithm>
#include <bit>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

bool CharacterTokens::suits(const Vocabulary& vocabulary, const BytePair& byte_pair) {
  // Of a token that a byte or another one shares, its spelling does not tell what it joins.
  if (!byte_pair.knows_all() || !vocabulary.is_one_to_one()) return false;
  std::vector<bool> is_byte(static_cast<size_t>(vocabulary.end_id()));
  for (const int32_t id : byte_pair.bytes()) is_byte[static_cast<size_t>(id)] = true;
  return std::ranges::none_of(byte_pair.merges(), [&](const BytePair::Merge& merge) {
    return is_byte[static_cast<size_t>(merge.left)] || is_byte[static_cast<size_t>(merge.right)];
  });
}

CharacterTokens::CharacterTokens(const Vocabulary& vocabulary, const BytePair& byte_pair)
    : byte_pair_(byte_pair),
      joints_(std::bit_ceil(4 * byte_pair.merges().size() + 2)),
      shift_(64 - std::countr_zero(joints_.size())) {
  for (const BytePair::Merge& merge : byte_pair.merges()) {
    size_t at = 0;
    const std::string_view left = vocabulary.token(merge.left);
    const char32_t first = utf8::decode(vocabulary.token(merge.right).data(), at);
    joints_[place(utf8::decode_before(left, left.size()), first)] = true;
  }
}

std::span<const WordPart> CharacterTokens::tokenize(std::string_view word,
                                                    BytePairScratch& scratch) const {
  scratch.word.reserve(word.size());
  WordPart* out = scratch.word.data();
  const auto take = [&](std::string_view part) {
    byte_pair_.tokenize(part, scratch);
    out = std::ranges::copy(scratch.parts, out).out;
  };
  size_t begin = 0, at = 0;
  char32_t last = utf8::decode(word.data(), at);
  for (size_t next = at; at < word.size(); at = next) {
    const char32_t c = utf8::decode(word.data(), next);
    if (!may_join(last, c)) {
      take(word.substr(begin, at - begin));
      begin = at;
    }
    last = c;
  }
  take(word.substr(begin));
  return {scratch.word.data(), out};
}

}  // namespace bert::tokenizer
