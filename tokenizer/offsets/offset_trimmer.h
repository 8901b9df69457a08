// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/bert_encoding.h"
#include "tokenizer/token_sequence.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

// A post-processor's trim_offsets.
struct TrimPass {
  bool add_prefix_space;  // a single space at the beginning of a text is kept
};

// Excludes the white space at both ends of a token from its offsets, like Hugging Face's
// RobertaProcessing and ByteLevel: as much as the token's string has, even if the text does not.
class OffsetTrimmer {
 public:
  OffsetTrimmer() = default;
  OffsetTrimmer(std::vector<TrimPass> passes, const Vocabulary& vocabulary);

  bool trims() const { return !passes_.empty(); }
  // offsets: of a text's tokens from `from` on. after: which passes see a special token first, not
  // the text's own; empty: none.
  void trim(const TokenSequence& text, size_t from, std::span<Offset> offsets,
            const std::vector<bool>& after) const;

 private:
  std::vector<TrimPass> passes_;
  std::vector<Blanks> blanks_;  // by id
};

}  // namespace bert::tokenizer
