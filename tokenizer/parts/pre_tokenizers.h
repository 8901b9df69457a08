// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tokenizer/parts/parted_text.h"
#include "tokenizer/unigram/unigram.h"

namespace bert::tokenizer {

class MecabDictionary;

// A tokenizer.json's pre-tokenizer, or MeCab; a Sequence is a list of them.
struct PreTokenizer {
  enum class Kind {
    bert,
    byte_level,
    delimiter,
    digits,
    fixed_length,
    mecab,
    metaspace,
    punctuation,
    split,
    whitespace,
    whitespace_split,
  } kind;
  Delimiter behavior = Delimiter::isolated;          // for punctuation and split
  std::shared_ptr<const Pattern> pattern = nullptr;  // for split
  std::string from = {};                             // the pattern's text
  bool is_expression = false;                        // `from` is an expression, not a string
  bool inverted = false;                             // split at what the pattern does not match
  bool individual = false;                           // each digit by itself
  size_t length = 0;                                 // for fixed_length, in scalars
  std::shared_ptr<const MecabDictionary> dictionary = nullptr;  // for mecab
  char32_t scalar = 0;  // the delimiter, or Metaspace's replacement
  // Puts a space, or Metaspace's replacement, before each part; first: only where the text begins.
  using Prepend = UnigramOptions::Prepend;
  Prepend prepend = Prepend::never;
  bool splits = true;  // Metaspace at its replacement, ByteLevel by its expression
};

// Applies a pre-tokenizer to every part of a text. at_begin: the text is the beginning of an input.
void pre_tokenize(const PreTokenizer& pre_tokenizer, bool at_begin, PartedText& text);

}  // namespace bert::tokenizer
