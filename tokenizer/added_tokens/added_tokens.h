// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/unigram/double_array.h"

namespace bert::tokenizer {

// A token that is matched in the text itself, before it is split into words.
struct AddedToken {
  std::string content;
  bool single_word = false;  // matches only where no word character (\w) is next to it
  bool lstrip = false;       // strips the white space on its left
  bool rstrip = false;       // and on its right
  bool normalized = false;   // matched in the normalised text, in its own normalised form
  bool special = false;
};

// Where the white space before `end` begins (at `floor` or later), and where the white space from
// `begin` on ends. The text must be well-formed UTF-8.
size_t space_before(std::string_view text, size_t floor, size_t end);
size_t space_after(std::string_view text, size_t begin);

// Finds added tokens in a text: leftmost first, then longest, without overlaps.
class AddedTokenMatcher {
 public:
  struct Pattern {
    std::string text;
    int32_t id;
    AddedToken token;
  };
  // Throws on an empty pattern, which matches nothing, and on equal patterns, of which Hugging Face
  // picks an arbitrary one.
  explicit AddedTokenMatcher(std::vector<Pattern> patterns);

  struct Piece {
    int32_t id;  // kText for the text between added tokens
    size_t begin, end;
  };
  static constexpr int32_t kText = -1;

  bool empty() const { return patterns_.empty(); }
  // Whether split() looks at the characters next to a match, which requires well-formed UTF-8.
  bool looks_around() const { return looks_around_; }
  // Splits `text` into non-empty pieces, in order, which together cover it. Two of them overlap if
  // a token strips white space that the next one begins with.
  void split(std::string_view text, std::vector<Piece>& out) const;

 private:
  size_t next_candidate(std::string_view text, size_t at) const;
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::vector<Pattern> patterns_;
  DoubleArray trie_;  // its values are indices into patterns_
  std::array<bool, 256> begins_{};
  bool looks_around_ = false;
  int only_begin_ = -1;  // the byte that all patterns begin with, or -1
};

}  // namespace bert::tokenizer
