// SPDX-License-Identifier: Apache-2.0
//
// Pairs as a language model that scores them reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/config/texts/chat_template.h"
#include "tokenizer/text_encoder.h"

namespace bert::models {

// Puts a query and a document into a chat template and encodes the whole as one text, without the
// tokenizer's own special tokens. If that is too long, it is truncated, and then the template's
// last tokens replace as many of the end: the score is read from the last one. All of this as
// sentence-transformers' CrossEncoder does.
class ChatPairs {
 public:
  // Nothing if the model does not read pairs so. prompt: the content of the message "system".
  static std::optional<ChatPairs> load(const std::string& directory, const std::string& prompt,
                                       const tokenizer::TextEncoder& encoder);
  ChatPairs(ChatTemplate chat, const tokenizer::TextEncoder& encoder);

  // A pair in the template, and where in it the two texts are, in Unicode scalars.
  struct Rendered {
    std::string text;
    Offset query, document;
  };
  // Throws std::runtime_error if there is no second text, or either is not UTF-8.
  Rendered render(const Input& input) const;
  // The max_length with which to encode a rendered text.
  int limit(int max_length) const { return max_length > 0 ? max_length + special_ : 0; }
  // Turns a rendered text's encoding into the pair's: offsets are in the two texts, and empty for
  // the template's tokens. Throws if max_length is too small for the template.
  void finish(const Rendered& rendered, int max_length, Encoding& encoding) const;
  // The same for the strings of its tokens. encoding: of finish().
  void finish(const Encoding& encoding, std::vector<std::string>& strings,
              const tokenizer::TextEncoder& encoder) const;

 private:
  ChatTemplate chat_;
  int before_ = 0, special_ = 0;  // tokens that the tokenizer adds: before the text, and in total
  int least_ = 0;                 // tokens of the template
  std::vector<int32_t> end_;      // those after the last text
};

}  // namespace bert::models
