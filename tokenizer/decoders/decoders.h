// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/parts/expressions/pattern.h"

namespace bert::tokenizer {

// A tokenizer.json's decoder, which turns tokens into pieces of text. A Sequence is a list of them.
struct Decoder {
  enum class Kind {
    byte_fallback,
    byte_level,
    ctc,
    end_of_word,  // BPEDecoder
    fuse,
    metaspace,
    replace,
    spaces,  // between tokens, if a file has no decoder
    strip,
    word_piece,
  } kind;
  std::string text = {};       // the prefix, suffix, padding, or what replaces a pattern
  std::string delimiter = {};  // between words (CTC); or Metaspace's replacement, or what to strip
  bool cleans_up = false;      // removes spaces before punctuation, for WordPiece and CTC
  bool drops_first = false;    // Metaspace: removes the replacement from the first token
  size_t start = 0, stop = 0;  // how many characters to strip at most
  std::shared_ptr<const Pattern> pattern = nullptr;  // for Replace
};

// Throws std::runtime_error if the tokens become longer than `most` bytes in all.
void decode(const Decoder& decoder, size_t most, std::vector<std::string>& tokens);

}  // namespace bert::tokenizer
