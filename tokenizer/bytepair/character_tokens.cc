// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/character_tokens.h"

#include <algorithm>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

bool CharacterTokens::suits(const Vocabulary& vocabulary, const BytePair& byte_pair) {
  // The spelling of a token shared with a byte or another token does not show what it joins.
  if (!byte_pair.knows_all() || !vocabulary.is_one_to_one()) return false;
  std::vector<bool> is_byte(static_cast<size_t>(vocabulary.end_id()));
  for (const int32_t id : byte_pair.bytes()) {
    if (id != Vocabulary::kNone) is_byte[static_cast<size_t>(id)] = true;
  }
  return std::ranges::none_of(byte_pair.merges(), [&](const BytePair::Merge& merge) {
    return is_byte[static_cast<size_t>(merge.left)] || is_byte[static_cast<size_t>(merge.right)];
  });
}

void CharacterTokens::CharacterTable::insert(char32_t c, int32_t id) {
  uint16_t& page = pages_[c >> 8];
  if (page == 0) {
    page = static_cast<uint16_t>(ids_.size() >> 8);
    ids_.resize(ids_.size() + 256, Vocabulary::kNone);
  }
  ids_[page << 8 | (c & 0xff)] = id;
}

CharacterTokens::CharacterTokens(const Vocabulary& vocabulary, const BytePair& byte_pair)
    : byte_pair_(byte_pair) {
  std::vector<ScalarJoints::Pair> joints;
  for (const BytePair::Merge& merge : byte_pair.merges()) {
    size_t at = 0;
    const std::string_view left = vocabulary.token(merge.left);
    const char32_t first = utf8::decode(vocabulary.token(merge.right).data(), at);
    joints.emplace_back(utf8::decode_before(left, left.size()), first);
  }
  joints_ = ScalarJoints(joints);
  std::vector<int32_t> shorts;
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (!vocabulary.has(id)) continue;
    const std::string_view token = vocabulary.token(id);
    if (token.empty() || token.size() > WordTable::kMaxSize) continue;
    size_t at = 0;
    const char32_t c = utf8::decode(token.data(), at);
    at == token.size() ? characters_.insert(c, id) : shorts.push_back(id);
  }
  words_ = WordTable(shorts.size());
  BytePairScratch scratch;
  for (const int32_t id : shorts) {
    const std::string_view token = vocabulary.token(id);
    merge_characters(token, scratch);
    if (scratch.parts.size() == 1 && scratch.parts[0].id == id)
      words_.insert(ShortWord::of(token), id);
  }
}

CharacterTokens::Part CharacterTokens::next_part(std::string_view text, size_t at) const {
  char32_t last = utf8::decode(text.data(), at);
  int32_t scalars = 1;
  for (size_t next = at; at < text.size(); at = next, ++scalars) {
    const char32_t c = utf8::decode(text.data(), next);
    if (!joints_.has(last, c)) break;
    last = c;
  }
  return {at, scalars};
}

std::span<const WordPart> CharacterTokens::tokenize(std::string_view text,
                                                    BytePairScratch& scratch) const {
  scratch.word.reserve(text.size());
  WordPart* out = scratch.word.data();
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = next_part(text, at).end;
    out = tokenize_part(text.substr(at, end - at), scratch, out);
  }
  return {scratch.word.data(), out};
}

WordPart* CharacterTokens::tokenize_part(std::string_view part, BytePairScratch& scratch,
                                         WordPart* out) const {
  if (part.size() <= ShortWord::kMaxSize) {
    const ShortWord word = ShortWord::padded(part.data(), part.size());
    const int32_t id = words_.find(word);
    if (id != WordTable::kNone) return *out = {id, static_cast<int32_t>(part.size())}, out + 1;
    return tokenize_word({owner_, word}, part, scratch, out);
  }
  if (part.size() <= WordCache::kMaxSize) {
    return tokenize_word({owner_, part}, part, scratch, out);
  }
  merge_characters(part, scratch);
  return std::ranges::copy(scratch.parts, out).out;
}

WordPart* CharacterTokens::tokenize_word(const WordCache::Key& key, std::string_view part,
                                         BytePairScratch& scratch, WordPart* out) const {
  WordPart* const end = scratch.memory.recall(key, out);
  if (end != nullptr) return end;
  merge_characters(part, scratch);
  scratch.memory.keep(key, scratch.parts);
  return std::ranges::copy(scratch.parts, out).out;
}

void CharacterTokens::merge_characters(std::string_view part, BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  parts.clear();
  for (size_t at = 0, end = 0; at < part.size(); at = end) {
    const int32_t id = characters_.find(utf8::decode(part.data(), end));
    if (id != Vocabulary::kNone) {
      parts.push_back({id, static_cast<int32_t>(end - at)});
      continue;
    }
    for (size_t i = at; i < end; ++i) {
      parts.push_back({byte_pair_.bytes()[static_cast<uint8_t>(part[i])], 1});
    }
  }
  byte_pair_.merge(scratch);
}

}  // namespace bert::tokenizer
