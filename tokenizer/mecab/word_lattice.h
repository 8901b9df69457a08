// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/mecab/mecab_dictionary.h"

namespace bert::tokenizer {

// Finds the words of a text as MeCab does: of all the ways to cut it into words of a dictionary and
// unknown words, the one with the least cost. White space between words belongs to none.
class WordLattice {
 public:
  struct Span {
    size_t begin, end;  // in bytes
  };

  explicit WordLattice(const MecabDictionary& dictionary) : dictionary_(dictionary) {}

  // The words of a well-formed text, in order.
  std::vector<Span> words(std::string_view text);

 private:
  struct Node {
    int64_t cost;       // of the best path from the text's beginning to this word's end
    uint32_t previous;  // the node before it on that path
    uint32_t next_end;  // another node that ends where this one does
    Span span;
    MecabWord word;
  };

  struct Before {
    int64_t cost;
    uint32_t node;
    uint16_t right;
  };

  void add_candidates(size_t at);
  void add_unknown(size_t begin, CharacterKind kind, size_t size);
  void add(Span span, std::span<const MecabWord> words);
  void connect(size_t at);
  void forget(size_t at);
  void collect_before(size_t at);
  uint32_t best_before(const MecabWord& word, int64_t& cost) const;
  size_t skip_kind(size_t at, CharacterKind kind, size_t most) const;
  CharacterKind kind_at(size_t at, size_t& size) const;

  const MecabDictionary& dictionary_;
  std::string_view text_;
  std::vector<Node> nodes_;       // each after its predecessor
  std::vector<uint32_t> places_;  // of nodes, where they move
  std::vector<Node> candidates_;  // that begin at one position
  std::vector<Before> before_;    // what ends there
  std::vector<uint32_t> ends_;    // by position: a node that ends there
};

}  // namespace bert::tokenizer
