// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/parts/parted_text.h"
#include "tokenizer/unigram/charsmap.h"
#include "tokenizer/unigram/text_normalizer.h"
#include "tokenizer/wordpiece/bert_normalizer.h"

namespace bert::tokenizer {

// A tokenizer.json's normalizer; a Sequence is a list of them.
struct Normalizer {
  enum class Kind {
    bert,
    byte_level,
    lowercase,
    nfc,
    nfd,
    nfkc,
    nfkd,
    nmt,
    precompiled,
    prepend,
    replace,
    strip,
    strip_accents,
  } kind;
  NormalizerOptions bert = {};
  std::shared_ptr<const Charsmap> charsmap = nullptr;
  std::shared_ptr<const Pattern> pattern = nullptr;  // for replace
  std::string from = {};       // the pattern, if it is a string or an expression for spaces
  bool is_expression = false;  // `from` is
  std::string to = {};         // what replace puts in its place, or what prepend puts in front
  bool left = false, right = false;  // for strip
};

// Applies a normalizer to every part of a text.
void normalize(const Normalizer& normalizer, PartedText& text);
// Converts a normalizer to a step of TextNormalizer; false if there is no such step.
bool as_step(const Normalizer& normalizer, NormalizerStep& out);
// Replaces each byte of a text by the character that represents it in a byte-level vocabulary.
void spell_bytes(PartedText& text);

}  // namespace bert::tokenizer
