// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/byte_tokens.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

int32_t find_byte(const Vocabulary& vocabulary, size_t byte) {
  char bytes[4];
  return vocabulary.find({bytes, utf8::encode(byte_characters()[byte], bytes)});
}

std::atomic<uint64_t> next_owner = 1;

}  // namespace

bool ByteTokens::has_all_bytes(const Vocabulary& vocabulary) {
  for (size_t byte = 0; byte < 256; ++byte) {
    if (find_byte(vocabulary, byte) == Vocabulary::kNone) return false;
  }
  return true;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary, const BytePair& byte_pair, bool ignore_merges)
    : byte_pair_(byte_pair), owner_(next_owner++) {
  for (size_t byte = 0; byte < 256; ++byte) bytes_[byte] = find_byte(vocabulary, byte);
  find_joints(vocabulary);
  BytePairScratch scratch;
  std::vector<std::pair<std::string, int32_t>> found;
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (!vocabulary.has(id) || vocabulary.find(vocabulary.token(id)) != id) continue;
    std::optional<std::string> bytes = bytes_of_token(vocabulary.token(id));
    if (!bytes || bytes->empty()) continue;
    bool merges = true;
    for (size_t i = 1; i < bytes->size(); ++i) merges &= joins((*bytes)[i - 1], (*bytes)[i]);
    if (merges) merge_bytes(bytes->data(), bytes->size(), scratch);
    merges = merges && scratch.parts.size() == 1 && scratch.parts[0].id == id;
    if (merges && bytes->size() <= WordTable::kMaxSize) {
      found.emplace_back(std::move(*bytes), id);
    } else if (ignore_merges) {
      ignored_.emplace(std::move(*bytes), id);
    }
  }
  words_ = WordTable(found.size());
  for (const auto& [bytes, id] : found) words_.insert(bytes, id);
}

void ByteTokens::find_joints(const Vocabulary& vocabulary) {
  const auto bytes = [&](int32_t id) { return bytes_of_token(vocabulary.token(id)); };
  for (const BytePair::Merge& merge : byte_pair_.merges()) {
    const auto left = bytes(merge.left), right = bytes(merge.right);
    if (!left || !right || left->empty() || right->empty()) continue;
    joints_.set(static_cast<size_t>(static_cast<uint8_t>(left->back())) << 8 |
                static_cast<uint8_t>(right->front()));
  }
}

int32_t ByteTokens::find_ignored(const char* bytes, size_t size) const {
  if (ignored_.empty()) return Vocabulary::kNone;
  const auto found = ignored_.find(std::string(bytes, size));
  return found == ignored_.end() ? Vocabulary::kNone : found->second;
}

void ByteTokens::merge_bytes(const char* bytes, size_t size, BytePairScratch& scratch) const {
  scratch.parts.clear();
  for (size_t i = 0; i < size; ++i) {
    scratch.parts.push_back({bytes_[static_cast<uint8_t>(bytes[i])], 1});
  }
  byte_pair_.merge(scratch);
}

void ByteTokens::merge(const char* bytes, size_t size, BytePairScratch& scratch,
                       std::vector<WordPart>& out) const {
  out.clear();
  size_t begin = 0;
  for (size_t i = 1; i < size; ++i) {
    if (joins(bytes[i - 1], bytes[i])) continue;
    merge_part(bytes + begin, i - begin, scratch, out);
    begin = i;
  }
  merge_part(bytes + begin, size - begin, scratch, out);
}

void ByteTokens::merge_part(const char* bytes, size_t size, BytePairScratch& scratch,
                            std::vector<WordPart>& out) const {
  constexpr size_t kRemembered = 4096;
  using Memory = BytePairScratch::Memory;
  Memory* memory = nullptr;
  Memory wanted;
  if (size <= sizeof wanted.bytes) {
    const int32_t id = words_.find(bytes, size);
    if (id != WordTable::kNone) return out.push_back({id, static_cast<int32_t>(size)});
    scratch.memory.resize(kRemembered);
    wanted.owner = owner_ << 8 | size;
    std::memcpy(wanted.bytes, bytes, size);
    memory = &scratch.memory[wanted.hash() % kRemembered];
    if (memory->is(wanted)) {
      for (int i = 0; i < memory->count; ++i) out.push_back({memory->ids[i], memory->lengths[i]});
      return;
    }
  }
  merge_bytes(bytes, size, scratch);
  out.insert(out.end(), scratch.parts.begin(), scratch.parts.end());
  if (memory == nullptr || scratch.parts.size() > std::size(wanted.ids)) return;
  for (const auto& [id, length] : scratch.parts) {
    wanted.ids[wanted.count] = id;
    wanted.lengths[wanted.count++] = static_cast<uint8_t>(length);
  }
  *memory = wanted;
}

}  // namespace bert::tokenizer
