// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

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

AddedTokenMatcher::AddedTokenMatcher(std::vector<Pattern> patterns)
    : patterns_(std::move(patterns)) {
  std::vector<DoubleArray::Entry> entries;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const Pattern& pattern = patterns_[i];
    if (pattern.text.empty()) {
      throw std::runtime_error(
          fmt::format("the added token \"{}\" is empty when normalised", pattern.token.content));
    }
    entries.push_back({pattern.text, static_cast<int32_t>(i)});
    const auto first = static_cast<uint8_t>(pattern.text[0]);
    begins_[first] = true;
    looks_around_ |= pattern.token.single_word || pattern.token.lstrip || pattern.token.rstrip;
    only_begin_ = i == 0 || only_begin_ == first ? first : -1;
  }
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.key < b.key; });
  const auto same = std::adjacent_find(entries.begin(), entries.end(),
                                       [](auto& a, auto& b) { return a.key == b.key; });
  if (same != entries.end()) {
    throw std::runtime_error(
        fmt::format("the added tokens \"{}\" and \"{}\" are both \"{}\" when normalised",
                    patterns_[static_cast<size_t>(same[0].value)].token.content,
                    patterns_[static_cast<size_t>(same[1].value)].token.content, same->key));
  }
  trie_ = DoubleArray(entries, {});
}

void AddedTokenMatcher::split(std::string_view text, std::vector<Piece>& out) const {
  out.clear();
  size_t done = 0;
  for (size_t at = next_candidate(text, 0); at < text.size(); at = next_candidate(text, at)) {
    const DoubleArray::Match match = trie_.longest_prefix(DoubleArray::kRoot, text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + match.length;
    at = end;
    const Pattern& pattern = patterns_[static_cast<size_t>(match.value)];
    if (pattern.token.single_word && !stands_alone(text, begin, end)) continue;
    if (pattern.token.lstrip) begin = std::max(done, space_before(text, done, begin));
    // The token before this one has already stripped up to `done`.
    if (pattern.token.rstrip) end = space_after(text, std::max(done, end));
    if (end <= begin) continue;  // white space itself, all of it stripped by the token before
    if (done < begin) out.push_back({kText, done, begin});
    out.push_back({pattern.id, begin, end});
    done = end;
  }
  if (done < text.size()) out.push_back({kText, done, text.size()});
}

size_t AddedTokenMatcher::next_candidate(std::string_view text, size_t at) const {
  if (patterns_.empty()) return text.size();
  if (only_begin_ >= 0) return std::min(text.find(static_cast<char>(only_begin_), at), text.size());
  while (at < text.size() && !begins_[static_cast<uint8_t>(text[at])]) ++at;
  return at;
}

bool AddedTokenMatcher::stands_alone(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0 && is_word(utf8::decode_before(text, begin))) return false;
  return end == text.size() || !is_word(utf8::decode(text.data(), end));
}

}  // namespace bert::tokenizer
