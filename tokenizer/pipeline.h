// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens/added_tokens.h"
#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/parts/parted_text.h"
#include "tokenizer/token_sequence.h"
#include "tokenizer/unigram/unigram.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/wordpiece/bert_normalizer.h"

namespace bert::tokenizer {

struct Definition;

// Memory reused from call to call.
struct PieceScratch {
  NormalizedText normalized;
  UnigramScratch unigram;
  BytePairScratch byte_pair;
  std::vector<AddedTokenMatcher::Piece> pieces;
  PartedText parted;
};

// Turns text without special tokens into tokens: a normalizer, a split into words and a model.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  // Appends the tokens of `piece`, a part of the original text that begins at its scalar `first`,
  // up to and including the word that brings `out` to `limit` tokens. tokens: the added tokens to
  // find in the normalised text. False if what was read of the piece is not well-formed UTF-8.
  virtual bool encode(std::string_view piece, int32_t first, size_t limit,
                      const AddedTokenMatcher& tokens, PieceScratch& scratch,
                      TokenSequence& out) const = 0;
  // The normalised form of a well-formed text.
  virtual std::string normalized(std::string_view text) const = 0;
  // Whether a piece of the vocabulary continues the word before it.
  virtual bool continues_word(std::string_view piece) const = 0;
  virtual int32_t unknown() const = 0;
};

// The vocabulary must outlive the pipeline.
std::unique_ptr<const Pipeline> make_word_piece_pipeline(const Definition& definition,
                                                         const Vocabulary& vocabulary);
std::unique_ptr<const Pipeline> make_unigram_pipeline(const Definition& definition,
                                                      const Vocabulary& vocabulary);
std::unique_ptr<const Pipeline> make_byte_level_pipeline(const Definition& definition,
                                                         const Vocabulary& vocabulary);
std::unique_ptr<const Pipeline> make_fast_bpe_pipeline(const Definition& definition,
                                                       const Vocabulary& vocabulary);
// Null if the definition is not of this kind.
std::unique_ptr<const Pipeline> make_character_pipeline(const Definition& definition,
                                                        const Vocabulary& vocabulary);
// For any definition that was read from a tokenizer.json.
std::unique_ptr<const Pipeline> make_parts_pipeline(const Definition& definition,
                                                    const Vocabulary& vocabulary);

}  // namespace bert::tokenizer
