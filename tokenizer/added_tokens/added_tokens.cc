// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens/added_tokens.h"

#include <algorithm>

namespace bert::tokenizer {

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
    if (end <= begin) continue;  // white space itself, all stripped by the previous token
    if (done < begin) out.push_back({kText, done, begin});
    out.push_back({pattern.id, begin, end});
    done = end;
  }
  if (done < text.size()) out.push_back({kText, done, text.size()});
}

size_t AddedTokenMatcher::next_candidate(std::string_view text, size_t at) const {
  if (patterns_.empty()) return text.size();
  if (only_begin_ >= 0) return std::min(text.find(static_cast<char>(only_begin_), at), text.size());
  const auto begins = [&](size_t i) -> int { return begins_[static_cast<uint8_t>(text[i])]; };
  const auto one_of_four = [&](size_t i) {
    return (begins(i) | begins(i + 1) | begins(i + 2) | begins(i + 3)) != 0;
  };
  while (text.size() - at >= 4 && !one_of_four(at)) at += 4;
  while (at < text.size() && begins(at) == 0) ++at;
  return at;
}

}  // namespace bert::tokenizer
