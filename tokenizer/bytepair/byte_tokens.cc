// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/byte_tokens.h"

#include <algorithm>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

int32_t find_byte(const Vocabulary& vocabulary, size_t byte) {
  char bytes[4];
  return vocabulary.find({bytes, utf8::encode(byte_characters()[byte], bytes)});
}

}  // namespace

bool ByteTokens::suits(const Vocabulary& vocabulary) {
  if (!vocabulary.is_one_to_one()) return false;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (find_byte(vocabulary, byte) == Vocabulary::kNone) return false;
  }
  return true;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary, BytePair& byte_pair, bool ignore_merges)
    : byte_pair_(byte_pair), scalars_(static_cast<size_t>(vocabulary.end_id())) {
  for (size_t byte = 0; byte < 256; ++byte) bytes_[byte] = find_byte(vocabulary, byte);
  std::vector<std::string> tokens(static_cast<size_t>(vocabulary.end_id()));
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (!vocabulary.has(id) || vocabulary.find(vocabulary.token(id)) != id) continue;
    tokens[id] = bytes_of_token(vocabulary.token(id)).value_or("");
    scalars_.set(id, tokens[id]);
  }
  const std::vector<std::string_view> spellings(tokens.begin(), tokens.end());
  std::vector<DoubleArray::Entry> entries;
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) entries.push_back({spellings[id], id});
  trie_ = DoubleArray(entries, {});
  search_.emplace(byte_pair, spellings, bytes_, trie_);
  pairs_.resize(edges_.size());
  for (size_t pair = 0; pair < pairs_.size(); ++pair) {
    pairs_[pair] = byte_pair_.rank(bytes_[pair >> 8], bytes_[pair & 0xff]);
  }
  find_joints(vocabulary);
  keep_words(spellings, ignore_merges);
}

void ByteTokens::keep_words(std::span<const std::string_view> spellings, bool ignore_merges) {
  std::vector<DoubleArray::Entry> words, ignored;
  for (int32_t id = 0; id < std::ssize(spellings); ++id) {
    const std::string_view bytes = spellings[id];
    if (bytes.empty()) continue;
    if (bytes.size() <= WordTable::kMaxSize && search_->is_made(id)) {
      words.push_back({bytes, id});
    } else if (ignore_merges) {
      shortest_ignored_ = std::min(shortest_ignored_, bytes.size());
      ignored.push_back({bytes, id});
    }
  }
  ignored_ = DoubleArray(ignored, {});
  words_ = WordTable(words.size());
  for (const auto& [bytes, id] : words) words_.insert(ShortWord::of(bytes), id);
}

void ByteTokens::find_joints(const Vocabulary& vocabulary) {
  const auto bytes = [&](int32_t id) { return bytes_of_token(vocabulary.token(id)); };
  std::vector<ScalarJoints::Pair> joints;
  for (const BytePair::Merge& merge : byte_pair_.merges()) {
    const auto left = bytes(merge.left), right = bytes(merge.right);
    if (!left || !right || left->empty() || right->empty()) continue;
    size_t last = left->size() - 1;
    while (last > 0 && utf8::is_continuation((*left)[last])) --last;
    char32_t before = 0, after = 0;
    const bool is_whole = utf8::decode_checked(*left, last, before) == left->size() - last &&
                          utf8::decode_checked(*right, 0, after) > 0;
    if (is_whole && (before | after) >= 0x80) {
      joints.emplace_back(before, after);
    } else {
      edges_.set(pair(left->back(), right->front()));
    }
  }
  joints_ = ScalarJoints(joints);
}

size_t ByteTokens::part_end(std::string_view piece, size_t begin) const {
  size_t end = begin;
  char32_t left = utf8::decode(piece.data(), end);
  for (size_t next = end; end < piece.size(); end = next) {
    const char32_t right = utf8::decode(piece.data(), next);
    if (!joins(piece, end, left, right)) break;
    left = right;
  }
  return end;
}

WordPart* ByteTokens::find_part(std::string_view part, WordPart* out) const {
  if (part.size() == 1) return *out = {byte(part[0]), 1}, out + 1;
  if (part.size() == 2) {
    const uint32_t rank = pairs_[pair(part[0], part[1])];
    if (rank != MergeTable::kNone) return *out = {byte_pair_.whole(rank), 2}, out + 1;
    out[0] = {byte(part[0]), 1};
    out[1] = {byte(part[1]), 1};
    return out + 2;
  }
  if (part.size() > ShortWord::kMaxSize) return nullptr;
  const int32_t id = words_.find(ShortWord::padded(part.data(), part.size()));
  if (id == WordTable::kNone) return nullptr;
  return *out = {id, static_cast<int32_t>(part.size())}, out + 1;
}

WordPart* ByteTokens::merge_part(std::string_view part, BytePairScratch& scratch,
                                 WordPart* out) const {
  // Long words are found faster than they are merged; other letters than ASCII's are merged from
  // several bytes each.
  const bool is_ascii = (part.back() & 0x80) == 0;
  if (part.size() > (is_ascii ? 16 : 10)) {
    if (WordPart* const end = search_->find(part, out)) return end;
  }
  merge_bytes(part, scratch);
  return std::ranges::copy(scratch.parts, out).out;
}

void ByteTokens::merge_bytes(std::string_view part, BytePairScratch& scratch) const {
  const size_t size = part.size();
  scratch.parts.resize(size);
  for (size_t i = 0; i < size; ++i) scratch.parts[i] = {byte(part[i]), 1};
  if (size > BytePairScratch::kShort) {
    byte_pair_.merge(scratch);
    return;
  }
  for (size_t i = 0; i + 1 < size; ++i) scratch.ranks[i] = pairs_[pair(part[i], part[i + 1])];
  byte_pair_.merge_short(scratch);
}

}  // namespace bert::tokenizer
