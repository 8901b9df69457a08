// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bert_encoding.h"

namespace bert::tokenizer {

// A text, or a pair of texts, in UTF-8.
struct Texts {
  std::string_view first;
  std::optional<std::string_view> second = std::nullopt;
};

// Text to Encoding, as Hugging Face's fast tokenizers do it. Errors are std::runtime_error.
// Immutable: may be used from many threads.
class TextEncoder {
 public:
  // Reads tokenizer.json; where there is none, with tokenizer_config.json, vocab.txt or else
  // spiece.model or sentencepiece.bpe.model.
  static TextEncoder load(const std::string& directory);
  TextEncoder(TextEncoder&&) noexcept;
  TextEncoder& operator=(TextEncoder&&) noexcept;
  ~TextEncoder();

  // max_length 0: no limit. With a limit, longest_first truncation at the side that the files say;
  // a limit too small for the special tokens is an error. So is invalid UTF-8, with the byte's
  // position.
  Encoding encode(std::string_view first, std::optional<std::string_view> second,
                  int max_length) const;
  // The encodings of all inputs in their order, whatever the number of threads (at least 1). Of
  // errors, that of the first input which has one is thrown, as "input i: ...".
  std::vector<Encoding> encode_batch(std::span<const Texts> inputs, int max_length,
                                     int threads) const;

  int vocabulary_size() const;  // one more than the greatest id
  bool has(int32_t id) const;   // whether there is a token of that id
  bool lowercases() const;
  const std::string& token(int32_t id) const;
  // Whether the token continues the word before it: a WordPiece token with the prefix for that, a
  // SentencePiece one without U+2581. Added, special and unknown tokens do not.
  bool continues_word(int32_t id) const;
  int32_t mask_id() const;                        // -1 where there is no mask token
  int default_max_length() const;                 // 0 where the files name none
  const std::vector<std::string>& notes() const;  // what a user should know: files that disagree

 private:
  struct Impl;
  explicit TextEncoder(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bert::tokenizer
