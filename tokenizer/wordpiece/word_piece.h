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
  size_t max_chars = 100;  // a longer word, in scalars, is unknown
};

// Normalised text to tokens: words as Hugging Face's BertPreTokenizer has them, and in each word
// the longest token first (Wu et al. 2016, as in BERT).
class WordPiece {
 public:
  // The vocabulary outlives this. Throws where it does not have options.unknown.
  WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options);

  // Appends the tokens of the words in bytes [begin, end) of `text`, as far as the first word with
  // which `out` has `limit` tokens or more.
  void tokenize(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                TokenSequence& out) const;

 private:
  void tokenize_word(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                     TokenSequence& out) const;

  const DoubleArray& trie_;
  const WordTable& words_;
  bool has_continuing_;  // tokens inside words
  int32_t unknown_;
  size_t max_chars_;
};

}  // namespace bert::tokenizer
