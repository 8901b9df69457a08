// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/vocabulary.h"
#include "tokenizer/wordpiece/bert_normalizer.h"

namespace bert::tokenizer {

struct TokenSequence;

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string continuing_prefix = "##";
  size_t max_chars = 100;  // scalars; a longer word is unknown
};

// Splits normalised text into words, like Hugging Face's BertPreTokenizer, and each word greedily
// into the longest tokens (Wu et al. 2016, as in BERT).
class WordPiece {
 public:
  // The vocabulary must outlive this. file: for errors.
  WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options, const std::string& file);

  // Appends the tokens of the words in bytes [begin, end) of `text`, up to and including the word
  // that brings `out` to `limit` tokens. Throws if a word is unknown and there is no unknown token.
  void tokenize(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                TokenSequence& out) const;
  int32_t unknown() const { return unknown_.id(); }

 private:
  void tokenize_word(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                     TokenSequence& out) const;

  const DoubleArray& trie_;
  const WordTable& words_;
  bool has_continuing_;  // some tokens continue words
  UnknownToken unknown_;
  size_t max_chars_;
};

}  // namespace bert::tokenizer
