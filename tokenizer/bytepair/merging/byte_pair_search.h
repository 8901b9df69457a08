// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/unigram/double_array.h"

namespace bert::tokenizer {

// Byte-pair encoding without merging, for long words. A sequence of tokens is the word's if merging
// the characters of each token gives that token, and merging those of any two neighbours gives the
// two: a merge across a border would also happen in the pair alone. There is only one such
// sequence. So the longest token that can follow the previous one is taken, or, if nothing can
// follow that, a shorter one.
class BytePairSearch {
 public:
  // spellings: of each id, in the characters' bytes; empty if it is not part of words. characters:
  // the tokens that words are spelled with. trie: from spellings to ids. byte_pair, which forgets
  // the merges that never happen, and trie must outlive this.
  BytePairSearch(BytePair& byte_pair, std::span<const std::string_view> spellings,
                 std::span<const int32_t> characters, const DoubleArray& trie);

  // Writes the tokens of a word from `out` on, which has room for one per byte, and returns their
  // end; null if only merging can find them, which is rare, or if a character has no token. Takes
  // time proportional to the word's length.
  WordPart* find(std::string_view word, WordPart* out) const;

  // Whether merging the token's own characters gives the token.
  bool is_made(int32_t id) const { return nodes_[id].rank != Node::kUnreachable; }

 private:
  // How a token is merged: the rank of the last merge, and what that joins.
  struct Node {
    static constexpr int32_t kCharacter = -1, kUnreachable = -2, kUnknown = -3;  // as ranks

    int32_t rank = kUnreachable, left = -1, right = -1;
    int32_t shorter = -1;  // the longest token that this one begins with
    int32_t length = 0;    // in bytes
  };

  void find_nodes(std::span<const std::string_view> spellings);
  void add(const BytePair::Merge& merge, int32_t rank);
  // The rank of the last merge of a token's characters, if they become that token; else kNone.
  uint32_t last_merge(int32_t id, std::string_view spelling, BytePairScratch& scratch) const;
  void keep_merges(const std::vector<bool>& happens, BytePair& byte_pair);
  // Whether merging the characters of two neighbours reaches these two tokens, even if they are
  // then merged; and whether they remain two.
  bool can_meet(int32_t left, int32_t right) const;
  bool stays_apart(int32_t left, int32_t right) const;

  const BytePair& byte_pair_;
  const DoubleArray& trie_;
  std::vector<Node> nodes_;  // by id
};

}  // namespace bert::tokenizer
