// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/raw_buffer.h"
#include "tokenizer/unigram/text_normalizer.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

struct TokenSequence;

// Memory reused from call to call.
struct UnigramScratch {
  struct Node {
    double score;   // of the best pieces ending here
    int32_t begin;  // of the last such piece
    int32_t id;
  };
  struct Token {
    int32_t id;
    size_t begin, end;
  };

  NormalizerScratch normalizer;
  RawBuffer<char> bytes;       // of a word
  RawBuffer<int32_t> sources;  // by byte
  RawBuffer<Node> nodes;       // by byte, for a part of the word
  std::vector<Token> tokens;
};

struct UnigramOptions {
  std::vector<double> scores;  // by id
  int32_t unknown = 0;         // -1: there is none
  bool byte_fallback = false;  // unknown pieces become "<0xE2>", one token per byte
  std::vector<NormalizerStep> steps;
  bool whitespace_split = false;  // words end at white space, which is dropped, before Metaspace
  // Metaspace: spaces become U+2581. When to put one before a text that does not begin with one:
  enum class Prepend { always, first, never } prepend = Prepend::always;
  bool split = true;  // before each U+2581
};

// Splits a word into the pieces whose scores have the greatest sum (Kudo 2018), like Hugging Face's
// tokenizers: in double precision, the first found of equal sums; a character that is not a piece
// is unknown, at 10 less than the lowest score, and adjacent unknown characters are one token.
class Unigram {
 public:
  // The vocabulary must outlive this.
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores, int32_t unknown);

  // Appends the tokens of the word of `size` bytes in scratch.bytes.
  void tokenize(size_t size, UnigramScratch& scratch, TokenSequence& out) const;

 private:
  struct Window;
  size_t find_best(std::string_view word, size_t at, size_t end, Window& window) const;
  static size_t decided(size_t at, size_t end, const Window& window);
  void append(std::string_view word, size_t end, const Window& window, UnigramScratch& scratch,
              UnigramScratch::Token& unknown, TokenSequence& out) const;
  void push_unknown(std::string_view word, const UnigramScratch& scratch,
                    UnigramScratch::Token& unknown, TokenSequence& out) const;

  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  int32_t unknown_;
  double unknown_score_;
  size_t longest_ = 0;  // the longest piece, in bytes
};

}  // namespace bert::tokenizer
