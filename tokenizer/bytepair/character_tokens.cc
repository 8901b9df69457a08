// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/character_tokens.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

// Each token as texts have it; empty if none does. space: the character that they have a space for.
std::vector<std::string> spell_tokens(const Vocabulary& vocabulary, std::string_view space) {
  std::vector<std::string> out(static_cast<size_t>(vocabulary.end_id()));
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (!vocabulary.has(id)) continue;
    std::string token = vocabulary.token(id);
    if (!space.empty()) {
      if (token.find(' ') != std::string::npos) continue;
      for (size_t at = 0; (at = token.find(space, at)) != std::string::npos; ++at)
        token.replace(at, space.size(), " ");
    }
    out[static_cast<size_t>(id)] = std::move(token);
  }
  return out;
}

// The bytes of eight that are ASCII, but no letters, as their highest bits.
uint64_t find_signs(const char* eight) {
  constexpr uint64_t kOnes = 0x0101010101010101u, kHigh = kOnes << 7;
  uint64_t bytes;
  std::memcpy(&bytes, eight, sizeof bytes);
  const uint64_t lower = (bytes | kOnes * 0x20) & ~kHigh;
  const uint64_t from_a = lower + kOnes * (0x80 - 'a'), past_z = lower + kOnes * (0x7f - 'z');
  return ~(from_a & ~past_z) & ~bytes & kHigh;
}

// The scalar that ends before text[end], if it begins at `begin` or later and is well-formed;
// otherwise any value.
char32_t last_scalar(std::string_view text, size_t begin, size_t end) {
  size_t at = end - 1;
  while (at > begin && utf8::is_continuation(text[at])) --at;
  return utf8::decode(text.data(), at);
}

}  // namespace

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

CharacterTokens::CharacterTokens(const Vocabulary& vocabulary, BytePair& byte_pair,
                                 std::string_view space)
    : byte_pair_(byte_pair), scalars_(static_cast<size_t>(vocabulary.end_id())) {
  const std::vector<std::string> tokens = spell_tokens(vocabulary, space);
  for (int32_t id = 0; id < std::ssize(tokens); ++id) {
    if (tokens[id].empty()) continue;
    scalars_.set(id, tokens[id]);
    size_t at = 0;
    const char32_t c = utf8::decode(tokens[id].data(), at);
    if (at == tokens[id].size()) characters_.insert(c, id);
  }
  for (size_t byte = 0; byte < byte_pair.bytes().size(); ++byte) {
    const char c = static_cast<char>(byte);
    if (byte_pair.bytes()[byte] != Vocabulary::kNone)
      scalars_.set(byte_pair.bytes()[byte], {&c, 1});
  }
  std::vector<bool> happens(byte_pair.merges().size());
  std::vector<int32_t> words = find_made(tokens, happens);
  std::erase_if(words, [&](int32_t id) { return tokens[id].size() > WordTable::kMaxSize; });
  words_ = WordTable(words.size());
  for (const int32_t id : words) words_.insert(ShortWord::of(tokens[id]), id);
  byte_pair.keep_merges(happens);
  std::vector<ScalarJoints::Pair> joints;
  for (const BytePair::Merge& merge : byte_pair.merges()) {
    const std::string &left = tokens[merge.left], &right = tokens[merge.right];
    size_t at = 0;
    joints.emplace_back(last_scalar(left, 0, left.size()), utf8::decode(right.data(), at));
  }
  joints_ = ScalarJoints(joints);
}

std::vector<int32_t> CharacterTokens::find_made(std::span<const std::string> tokens,
                                                std::vector<bool>& happens) const {
  std::vector<int32_t> out;
  BytePairScratch scratch;
  for (int32_t id = 0; id < std::ssize(tokens); ++id) {
    if (tokens[id].empty()) continue;
    const uint32_t last = merge_characters(tokens[id], scratch);
    if (scratch.parts.size() != 1 || scratch.parts[0].id != id) continue;
    out.push_back(id);
    if (last != MergeTable::kNone) happens[last] = true;
  }
  return out;
}

size_t CharacterTokens::word_end(std::string_view text, size_t at) const {
  const size_t begin = at++;
  while (at < text.size()) {
    const uint64_t signs = find_signs(text.data() + at);
    at += static_cast<size_t>(std::countr_zero(signs)) / 8;  // 8 if there are none
    if (signs == 0 || at >= text.size()) continue;
    if (!joints_.has(last_scalar(text, begin, at), static_cast<uint8_t>(text[at]))) return at;
    ++at;
  }
  return text.size();
}

size_t CharacterTokens::part_end(std::string_view word, size_t begin) const {
  char32_t last = 0, c = 0;
  size_t length = utf8::decode_checked(word, begin, last);
  size_t end = begin + length;
  for (; length > 0 && end < word.size(); end += length, last = c) {
    length = utf8::decode_checked(word, end, c);
    if (length == 0 || !joints_.has(last, c)) break;
  }
  return end;
}

WordPart* CharacterTokens::merge_part(std::string_view part, BytePairScratch& scratch,
                                      WordPart* out) const {
  merge_characters(part, scratch);
  return std::ranges::copy(scratch.parts, out).out;
}

uint32_t CharacterTokens::merge_characters(std::string_view part, BytePairScratch& scratch) const {
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
  return byte_pair_.merge(scratch);
}

}  // namespace bert::tokenizer
