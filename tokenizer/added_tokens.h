// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/unigram/double_array.h"

namespace bert::tokenizer {

// A token that is recognised in the text itself, before words are.
struct AddedToken {
  std::string content;
  bool single_word = false;  // not beside a word character (\w)
  bool lstrip = false;       // takes the white space on its left
  bool rstrip = false;       // and on its right
  bool normalized = false;   // is looked for in the normalised text, in its own normalised form
  bool special = false;
};

// Where the white space that ends at `end` begins, at `floor` or after it; and where that which
// begins at `begin` ends. The text is well-formed.
size_t space_before(std::string_view text, size_t floor, size_t end);
size_t space_after(std::string_view text, size_t begin);

// Finds added tokens in a text: of those that begin first, the longest; matches do not overlap.
class AddedTokenMatcher {
 public:
  struct Pattern {
    std::string text;
    int32_t id;
    AddedToken token;
  };
  // Throws on an empty pattern and on equal patterns: neither says what to match, and of equal ones
  // Hugging Face takes now one, now another.
  explicit AddedTokenMatcher(std::vector<Pattern> patterns);

  struct Piece {
    int32_t id;  // kText where the piece is no added token
    size_t begin, end;
  };
  static constexpr int32_t kText = -1;

  bool empty() const { return patterns_.empty(); }
  // Whether split() looks at what stands beside a match, for which the text must be well-formed
  // UTF-8.
  bool looks_around() const { return looks_around_; }
  // The pieces of `text` in order, each of at least one byte. Bytes in none of them do not exist;
  // two may overlap where a token strips white space with which the next one begins.
  void split(std::string_view text, std::vector<Piece>& out) const;

 private:
  size_t next_candidate(std::string_view text, size_t at) const;
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::vector<Pattern> patterns_;
  DoubleArray trie_;  // to indices of patterns_
  std::array<bool, 256> begins_{};
  bool looks_around_ = false;
  int only_begin_ = -1;  // where all patterns begin with one byte
};

}  // namespace bert::tokenizer
