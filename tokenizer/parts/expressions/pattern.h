// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

// A piece of a text that matches a pattern, or that lies between matches.
struct Match {
  size_t begin, end;
  bool is_match;
};

// What happens to matches when a text is cut at them.
enum class Delimiter { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Joins matches to their neighbours. Those that are still matches afterwards are to be removed.
void apply(Delimiter delimiter, std::vector<Match>& matches);

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends the matches and what lies between them, in order; together they cover the text.
  virtual void find(std::string_view text, std::vector<Match>& out) const = 0;
};

// Every occurrence of a string; an empty one occurs between all characters.
std::unique_ptr<const Pattern> make_literal_pattern(std::string literal);
// The pieces of kByteLevelExpression, ByteLevel's own.
constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
std::unique_ptr<const Pattern> make_byte_level_pattern();
// A regular expression in Oniguruma's Ruby syntax. Throws std::runtime_error if it is not valid.
// find() throws if the time or memory for a text would no longer be proportional to its length.
std::unique_ptr<const Pattern> make_expression_pattern(const std::string& expression);

// Appends the scalars for which `is` returns true, one by one, and what lies between them.
template <class Is>
void find_scalars(std::string_view text, Is&& is, std::vector<Match>& out) {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!is(utf8::decode(text.data(), at))) continue;
    if (done < begin) out.push_back({done, begin, false});
    out.push_back({begin, at, true});
    done = at;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
}

// Appends the matches that `search(from)` finds, each a begin and an end, from left to right. An
// empty match where the last one ended does not count. search returns false if there are no more.
template <class Search>
void find_each(std::string_view text, Search&& search, std::vector<Match>& out) {
  size_t from = 0, done = 0;
  bool is_first = true;
  for (size_t begin = 0, end = 0; from <= text.size() && search(from, begin, end);) {
    if (begin == end && !is_first && end == done) {
      if (from == text.size()) break;
      utf8::decode(text.data(), from);
      continue;
    }
    if (done < begin) out.push_back({done, begin, false});
    out.push_back({begin, end, true});
    from = done = end;
    is_first = false;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
}

}  // namespace bert::tokenizer
