// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/pipeline.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

// A token of bytes [begin, end) of a word.
struct WordToken {
  int32_t id;
  size_t begin, end;
  bool spelled = false;  // its string is those bytes, not the vocabulary's
};

// A tokenizer.json's model: splits a non-empty word into tokens.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Sets `out`. Throws if something in the word is unknown and the model has no unknown token.
  virtual void tokenize(std::string_view word, PieceScratch& scratch,
                        std::vector<WordToken>& out) const = 0;
};

// The vocabulary must outlive the model.
std::unique_ptr<const WordModel> make_word_model(const Definition& definition,
                                                 const Vocabulary& vocabulary);

}  // namespace bert::tokenizer
