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

// Encodes texts as Hugging Face's fast tokenizers do. Throws std::runtime_error. Immutable: may be
// used from many threads.
class TextEncoder {
 public:
  // Reads tokenizer.json; without one, vocab.txt or else spiece.model, sentencepiece.bpe.model or
  // vocab.json with merges.txt; with tokenizer_config.json.
  static TextEncoder load(const std::string& directory);
  // Takes no text: encode() throws the reason. There are no tokens and no ids.
  static TextEncoder without_text(std::string reason);
  TextEncoder(TextEncoder&&) noexcept;
  TextEncoder& operator=(TextEncoder&&) noexcept;
  ~TextEncoder();

  // max_length 0: no limit. Otherwise longest_first truncation on the side that the files name.
  // Throws if max_length is too small for the special tokens, and on invalid UTF-8, with the byte's
  // position.
  Encoding encode(std::string_view first, std::optional<std::string_view> second,
                  int max_length) const;
  // The strings of the tokens that encode() gives: the vocabulary's, but of added tokens what of
  // the text they matched, and of unknown pieces what they stand for.
  std::vector<std::string> strings(std::string_view first, std::optional<std::string_view> second,
                                   int max_length) const;
  // Ids to text, as Hugging Face's fast tokenizers decode. Throws if no token has one of the ids.
  std::string decode(std::span<const int32_t> ids, bool skips_special) const;

  bool takes_text() const;
  const std::string& refusal() const;  // the reason why it does not
  const std::string& file() const;     // that has the vocabulary; empty if there is none
  const char* algorithm() const;       // "WordPiece", "WordLevel", "Unigram", "BPE" or "none"
  int vocabulary_size() const;         // the greatest id + 1
  bool has(int32_t id) const;          // whether a token has this id
  bool lowercases() const;
  bool truncates_left() const;
  const std::string& token(int32_t id) const;
  // Whether the token continues the word before it: a WordPiece token with the continuing prefix, a
  // SentencePiece token without U+2581. Added, special and unknown tokens never do.
  bool continues_word(int32_t id) const;
  int32_t find(std::string_view token) const;     // the id of exactly this token, or -1
  int32_t mask_id() const;                        // -1 if there is no mask token
  int32_t unknown_id() const;                     // -1 if there is no unknown token
  int default_max_length() const;                 // 0 if the files name none
  const std::vector<std::string>& notes() const;  // what a user should know: files that disagree

 private:
  struct Impl;
  explicit TextEncoder(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bert::tokenizer
