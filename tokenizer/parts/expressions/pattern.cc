// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/expressions/pattern.h"

#include <algorithm>
#include <utility>

#include "tokenizer/bytepair/byte_level.h"

namespace bert::tokenizer {

namespace {

// Keeps every piece; joins(is_match, was_match): whether a piece joins the one before it.
template <class Joins>
void join_to_previous(std::vector<Match>& matches, Joins&& joins) {
  size_t size = 0;
  bool was_match = false;
  for (const Match match : matches) {
    if (size > 0 && joins(match.is_match, was_match)) {
      matches[size - 1].end = match.end;
    } else {
      matches[size++] = {match.begin, match.end, false};
    }
    was_match = match.is_match;
  }
  matches.resize(size);
}

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  void find(std::string_view text, std::vector<Match>& out) const override {
    find_each(
        text,
        [&](size_t from, size_t& begin, size_t& end) {
          begin = text.find(literal_, from);
          end = begin + literal_.size();
          return begin != std::string_view::npos;
        },
        out);
  }

 private:
  std::string literal_;
};

class ByteLevelPattern : public Pattern {
 public:
  void find(std::string_view text, std::vector<Match>& out) const override {
    for (size_t at = 0; at < text.size();) {
      const size_t end = next_byte_piece(text, at).end;
      out.push_back({at, end, true});
      at = end;
    }
  }
};

}  // namespace

void apply(Delimiter delimiter, std::vector<Match>& matches) {
  switch (delimiter) {
    case Delimiter::removed:
      return;
    case Delimiter::isolated:
      for (Match& match : matches) match.is_match = false;
      return;
    case Delimiter::contiguous:
      return join_to_previous(matches, [](bool is, bool was) { return is == was; });
    case Delimiter::merged_with_previous:
      return join_to_previous(matches, [](bool is, bool was) { return is && !was; });
    case Delimiter::merged_with_next:
      // The same from the other end.
      std::reverse(matches.begin(), matches.end());
      for (Match& match : matches) match = {match.end, match.begin, match.is_match};
      join_to_previous(matches, [](bool is, bool was) { return is && !was; });
      std::reverse(matches.begin(), matches.end());
      for (Match& match : matches) match = {match.end, match.begin, match.is_match};
      return;
  }
}

std::unique_ptr<const Pattern> make_literal_pattern(std::string literal) {
  return std::make_unique<LiteralPattern>(std::move(literal));
}

std::unique_ptr<const Pattern> make_byte_level_pattern() {
  return std::make_unique<ByteLevelPattern>();
}

}  // namespace bert::tokenizer
