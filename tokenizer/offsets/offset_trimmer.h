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
  bool add_prefix_space;  // one space at the beginning of a text is not trimmed
};

// Leaves the white space at both ends of a token out of its offsets, as Hugging Face's
// RobertaProcessing and ByteLevel do: as much as the token's string has, whether or not the text
// has it there.
class OffsetTrimmer {
 public:
  OffsetTrimmer() = default;
  OffsetTrimmer(std::vector<TrimPass> passes, const Vocabulary& vocabulary);

  bool trims() const { return !passes_.empty(); }
  // offsets: of the tokens from `from` on of a text. after: which passes see a special token as the
  // first one, not the text's; none of them where it is empty.
  void trim(const TokenSequence& text, size_t from, std::span<Offset> offsets,
            const std::vector<bool>& after) const;

 private:
  std::vector<TrimPass> passes_;
  std::vector<Blanks> blanks_;  // by id
};

}  // namespace bert::tokenizer
