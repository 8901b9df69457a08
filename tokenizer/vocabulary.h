// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/unigram/double_array.h"
#include "tokenizer/wordpiece/word_table.h"

namespace bert::tokenizer {

// Tokens and their ids, both ways. Ids may have gaps.
class Vocabulary {
 public:
  static constexpr int32_t kMaxId = (1 << 22) - 1;
  static constexpr int32_t kNone = DoubleArray::kNone;

  Vocabulary() = default;
  // Ids are 0 to kMaxId. Of equal tokens the last one counts, as in Hugging Face's maps.
  // continuing_prefix: what the tokens inside words begin with. has_words: whether to fill words().
  Vocabulary(std::vector<std::pair<std::string, int32_t>> entries,
             std::string_view continuing_prefix, bool has_words = true);

  // kNone if it is not there; an empty token is never found.
  int32_t find(std::string_view token) const { return trie_.find(token); }
  // Throws if no token has this id.
  const std::string& token(int32_t id) const;
  bool has(int32_t id) const;
  // The number of distinct tokens.
  int32_t count() const { return trie_.count() + (has_empty_ ? 1 : 0); }
  // Whether no two tokens share an id, and no token has two.
  bool is_one_to_one() const { return std::ranges::count(has_, true) == count(); }
  int32_t end_id() const { return static_cast<int32_t>(tokens_.size()); }
  // Names an id without adding its token to those that words are split into: for added tokens.
  void name(int32_t id, std::string token);

  // All tokens.
  const DoubleArray& trie() const { return trie_; }
  // The short tokens that may be whole words.
  const WordTable& words() const { return words_; }

 private:
  std::vector<std::string> tokens_;  // by id
  std::vector<bool> has_;
  bool has_empty_ = false;  // an empty token, which the trie leaves out
  DoubleArray trie_;
  WordTable words_{0};
};

// The token for what a vocabulary does not have. It may itself be missing, as in Hugging Face's
// tokenizers: only a text that needs it is then an error.
class UnknownToken {
 public:
  // token: empty if none is named. file: where, for the error.
  UnknownToken(const Vocabulary& vocabulary, std::string token, std::string file)
      : id_(vocabulary.find(token)), token_(std::move(token)), file_(std::move(file)) {}

  // Vocabulary::kNone if it is missing.
  int32_t id() const { return id_; }
  // The id for an unknown word. Throws if it is missing.
  int32_t needed_id() const { return id_ != Vocabulary::kNone ? id_ : refuse_word(); }

 private:
  [[noreturn]] int32_t refuse_word() const;

  int32_t id_;
  std::string token_, file_;
};

}  // namespace bert::tokenizer
