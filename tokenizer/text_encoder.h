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
  // Reads tokenizer.json or, without one, vocab.txt, perhaps with bpe.codes, spiece.model,
  // sentencepiece.bpe.model, spm.model or vocab.json with merges.txt; and tokenizer_config.json.
  static TextEncoder load(const std::string& directory);
  // An encoder that takes no text: encode() throws the reason. It has no tokens and no ids.
  static TextEncoder without_text(std::string reason);
  TextEncoder(TextEncoder&&) noexcept;
  TextEncoder& operator=(TextEncoder&&) noexcept;
  ~TextEncoder();

  // max_length 0: no limit. Otherwise truncates longest_first, on the side that the files name.
  // Throws if max_length is too small for the special tokens, and on invalid UTF-8, giving the
  // byte's position.
  Encoding encode(std::string_view first, std::optional<std::string_view> second,
                  int max_length) const;
  // The strings of the tokens that encode() gives: the vocabulary's, except for added tokens the
  // text that they matched, and for unknown pieces the text that they stand for.
  std::vector<std::string> strings(std::string_view first, std::optional<std::string_view> second,
                                   int max_length) const;
  // Ids to text, as Hugging Face's fast tokenizers decode. Throws if no token has one of the ids.
  std::string decode(std::span<const int32_t> ids, bool skips_special) const;

  bool takes_text() const;
  const std::string& refusal() const;  // why it does not
  const std::string& file() const;     // the one with the vocabulary; empty if there is none
  const char* algorithm() const;       // "WordPiece", "WordLevel", "Unigram", "BPE" or "none"
  int vocabulary_size() const;         // the greatest id + 1
  int size_without_added() const;      // the same without tokens added to the model's vocabulary
  bool has(int32_t id) const;          // whether a token has this id
  bool lowercases() const;
  bool truncates_left() const;
  const std::string& token(int32_t id) const;
  // Whether the token continues the word before it: a WordPiece token with the continuing prefix, a
  // SentencePiece token without U+2581. Added, special and unknown tokens never do.
  bool continues_word(int32_t id) const;
  // Of each token of a text without special tokens around it: whether it is the first of a word, as
  // the tokenizer splits a text into words before it splits these, or an added token.
  std::vector<bool> word_begins(std::string_view text) const;
  int32_t find(std::string_view token) const;     // the id of exactly this token, or -1
  int32_t mask_id() const;                        // -1 if there is no mask token
  int32_t unknown_id() const;                     // -1 if there is no unknown token
  int default_max_length() const;                 // 0 if the files name none
  const std::vector<std::string>& notes() const;  // for users: where the files disagree

 private:
  struct Impl;
  explicit TextEncoder(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace bert::tokenizer
