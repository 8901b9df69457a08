// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/merging/byte_pair.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

size_t checked_count(const BytePairOptions& options) {
  const size_t count = options.merges.size();
  if (count <= MergeTable::kMaxMerges) return count;
  throw std::runtime_error(fmt::format("{}: {} merges, expected at most {}", options.merges_name,
                                       count, MergeTable::kMaxMerges));
}

}  // namespace

BytePair::BytePair(const Vocabulary& vocabulary, const BytePairOptions& options)
    : vocabulary_(vocabulary),
      prefix_(options.prefix),
      suffix_(options.suffix),
      has_unknown_(!options.unknown.empty()),
      fuse_unknown_(options.fuse_unknown),
      ignore_merges_(options.ignore_merges),
      at_once_(options.at_once),
      unknown_(vocabulary, options.unknown, options.file),
      table_(checked_count(options)) {
  for (int byte = 0; options.byte_fallback && byte < 256; ++byte) {
    bytes_.push_back(vocabulary.find(fmt::format("<0x{:02X}>", byte)));
  }
  add_merges(options);
}

void BytePair::add_merges(const BytePairOptions& options) {
  const auto find = [&](const std::string& token, size_t rank) {
    const int32_t id = vocabulary_.find(token);
    if (id != Vocabulary::kNone) return id;
    throw std::runtime_error(fmt::format(
        "{}: merge {} (\"{}\" and \"{}\") needs \"{}\", which is not in the vocabulary",
        options.merges_name, rank, options.merges[rank].first, options.merges[rank].second, token));
  };
  merges_.reserve(options.merges.size());
  for (const auto& [left, right] : options.merges) {
    const size_t rank = merges_.size();
    if (right.size() < prefix_.size()) {
      throw std::runtime_error(
          fmt::format("{}: merge {} (\"{}\" and \"{}\"): expected the second to begin with \"{}\"",
                      options.merges_name, rank, left, right, prefix_));
    }
    const std::string whole = left + right.substr(prefix_.size());
    merges_.push_back({find(left, rank), find(right, rank), find(whole, rank)});
    const Merge& merge = merges_.back();
    table_.append(merge.left, merge.right, merge.whole);
  }
}

void BytePair::keep_merges(const std::vector<bool>& happens) {
  std::vector<Merge> kept;
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    if (happens[rank]) kept.push_back(merges_[rank]);
  }
  merges_ = std::move(kept);
  table_ = MergeTable(merges_.size());
  for (const Merge& merge : merges_) table_.append(merge.left, merge.right, merge.whole);
}

bool BytePair::knows_all() const {
  if (bytes_.empty() || !prefix_.empty() || !suffix_.empty() || ignore_merges_) return false;
  // Gemma 2 has a token for the tab, but none for its byte, which is in no other character.
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    const char character = static_cast<char>(byte);
    const bool is_character = byte < 0x80 && vocabulary_.find({&character, 1}) != Vocabulary::kNone;
    if (bytes_[byte] == Vocabulary::kNone && !is_character) return false;
  }
  return true;
}

BytePair::Known BytePair::add_character(std::string_view bytes, bool is_first, bool is_last,
                                        BytePairScratch& scratch) const {
  std::string_view spelled = bytes;
  if ((!is_first && !prefix_.empty()) || (is_last && !suffix_.empty())) {
    spelled = scratch.spelled.assign(is_first ? "" : prefix_)
                  .append(bytes)
                  .append(is_last ? suffix_ : "");
  }
  const int32_t id = vocabulary_.find(spelled);
  if (id != Vocabulary::kNone) {
    scratch.parts.push_back({id, static_cast<int32_t>(bytes.size())});
    return Known::itself;
  }
  const auto token = [&](char byte) { return bytes_[static_cast<uint8_t>(byte)]; };
  const auto is_missing = [&](char byte) { return token(byte) == Vocabulary::kNone; };
  if (bytes_.empty() || std::ranges::any_of(spelled, is_missing)) return Known::no;
  for (const char byte : spelled) scratch.parts.push_back({token(byte), 1});
  return Known::by_bytes;
}

void BytePair::tokenize(std::string_view word, BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  if (word.size() > WordCache::kMaxSize) return tokenize_anew(word, scratch);
  const WordCache::Key key(owner_, word);
  parts.resize(WordCache::kMaxParts);
  const WordPart* const end = scratch.memory.recall(key, parts.data());
  if (end != nullptr) return parts.resize(static_cast<size_t>(end - parts.data()));
  tokenize_anew(word, scratch);
  scratch.memory.keep(key, parts);
}

void BytePair::tokenize_anew(std::string_view word, BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  parts.clear();
  const int32_t token = ignore_merges_ ? vocabulary_.find(word) : Vocabulary::kNone;
  if (token != Vocabulary::kNone) {
    return parts.push_back({token, static_cast<int32_t>(word.size())});
  }
  int32_t unknown = 0;  // bytes of unknown characters that have no part yet
  bool has_unknown = false;
  for (size_t at = 0, end = 0; at < word.size(); at = end) {
    utf8::decode(word.data(), end);
    const size_t before = parts.size();
    const Known known =
        add_character(word.substr(at, end - at), at == 0, end == word.size(), scratch);
    // As in Hugging Face's tokenizers, the unknown token comes before a known character, but after
    // one that is spelled in bytes.
    if (unknown > 0 && (known == Known::itself || (known == Known::no && !fuse_unknown_))) {
      parts.insert(parts.begin() + static_cast<ptrdiff_t>(before), {unknown_.needed_id(), unknown});
      unknown = 0;
    }
    if (known == Known::no && has_unknown_) unknown += static_cast<int32_t>(end - at);
    has_unknown |= unknown > 0;
  }
  if (unknown > 0) parts.push_back({unknown_.needed_id(), unknown});
  // To a merge, unknown tokens of different lengths are the same; only the queue gets that right.
  has_unknown || at_once_ ? merge_long(scratch) : merge(scratch);
}

uint32_t BytePair::merge(BytePairScratch& scratch) const {
  const std::vector<WordPart>& parts = scratch.parts;
  if (parts.size() > BytePairScratch::kShort) return merge_long(scratch);
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    scratch.ranks[i] = rank(parts[i].id, parts[i + 1].id);
  }
  return merge_short(scratch);
}

uint32_t BytePair::merge_short(BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  auto& ranks = scratch.ranks;
  size_t pairs = parts.empty() ? 0 : parts.size() - 1;
  uint32_t last = MergeTable::kNone;
  while (pairs > 0) {
    uint64_t least = ~uint64_t{0};  // a rank and its place, found without unpredictable branches
    for (size_t i = 0; i < pairs; ++i) {
      least = std::min(least, static_cast<uint64_t>(ranks[i]) << 32 | i);
    }
    const size_t best = least & 0xffffffff;
    if (least >> 32 == MergeTable::kNone) break;
    last = static_cast<uint32_t>(least >> 32);
    parts[best] = {whole(last), parts[best].length + parts[best + 1].length};
    --pairs;
    for (size_t i = best; i < pairs; ++i) {
      parts[i + 1] = parts[i + 2];
      ranks[i] = ranks[i + 1];
    }
    const auto find = [&](size_t i) { ranks[i] = rank(parts[i].id, parts[i + 1].id); };
    if (best > 0) find(best - 1);
    if (best < pairs) find(best);
  }
  parts.resize(parts.empty() ? 0 : pairs + 1);
  return last;
}

// With a queue of possible merges by rank and position. An entry whose tokens have been merged with
// others since is recognised because the two now in its place would not become the same token.
// at_once_: what a merge makes possible waits until its pair has been merged everywhere.
uint32_t BytePair::merge_long(BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  std::vector<uint64_t>& queue = scratch.queue;
  const auto size = static_cast<int32_t>(parts.size());
  scratch.previous.resize(parts.size());
  scratch.next.resize(parts.size());
  queue.clear();
  scratch.later.clear();
  const auto rank_at = [&](int32_t at) {
    const int32_t next = scratch.next[at];
    return next < size ? rank(parts[at].id, parts[next].id) : MergeTable::kNone;
  };
  const auto entry = [&](int32_t at) {
    return static_cast<uint64_t>(rank_at(at)) << 32 | static_cast<uint32_t>(at);
  };
  const auto push_entry = [&](uint64_t made) {
    queue.push_back(made);
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
  };
  const auto push = [&](int32_t at) {
    if (rank_at(at) == MergeTable::kNone) return;
    at_once_ ? scratch.later.push_back(entry(at)) : push_entry(entry(at));
  };
  for (int32_t i = 0; i < size; ++i) scratch.previous[i] = i - 1, scratch.next[i] = i + 1;
  for (int32_t i = 0; i < size; ++i) {
    if (rank_at(i) != MergeTable::kNone) queue.push_back(entry(i));
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  uint32_t last = MergeTable::kNone;
  while (!queue.empty()) {
    const uint64_t top = queue.front();
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    queue.pop_back();
    const auto at = static_cast<int32_t>(top & 0xffffffff);
    const int32_t joined = whole(static_cast<uint32_t>(top >> 32)), next = scratch.next[at];
    const uint32_t now = parts[at].length == 0 ? MergeTable::kNone : rank_at(at);
    const bool is_there =
        at_once_ ? now == top >> 32 : now != MergeTable::kNone && whole(now) == joined;
    if (is_there) {
      last = now;
      parts[at] = {joined, parts[at].length + parts[next].length};
      parts[next].length = 0;
      scratch.next[at] = scratch.next[next];
      if (scratch.next[at] < size) scratch.previous[scratch.next[at]] = at;
      if (scratch.previous[at] >= 0) push(scratch.previous[at]);
      push(at);
    }
    if (!queue.empty() && queue.front() >> 32 == top >> 32) continue;
    std::ranges::for_each(scratch.later, push_entry);
    scratch.later.clear();
  }
  std::erase_if(parts, [](const WordPart& part) { return part.length == 0; });
  return last;
}

}  // namespace bert::tokenizer
