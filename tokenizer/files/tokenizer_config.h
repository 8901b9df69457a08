// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/json_field.h"

namespace bert::tokenizer {

// A special token: "[CLS]", or {"content": "[CLS]", "lstrip": false, ...}. The first form gets its
// flags from the tokenizer's class.
struct NamedToken : AddedToken {
  bool has_flags = false;
};

// What tokenizer_config.json, special_tokens_map.json and added_tokens.json say. Each file may be
// absent, and so may each field.
struct TokenizerConfig {
  std::string file;                          // tokenizer_config.json, for messages
  std::string tokenizer_class, class_field;  // class_field: its file and field
  std::string word_tokenizer_type = "basic", subword_tokenizer_type = "wordpiece";
  std::optional<bool> do_word_tokenize, do_subword_tokenize;  // as the two above, for Japanese
  struct {
    std::string dictionary = "unidic_lite", option = {};  // dictionary: empty if it is null
    bool normalizes = true;
  } mecab;
  std::optional<bool> do_lower_case, tokenize_chinese_chars, clean_text, do_basic_tokenize;
  std::optional<bool> keep_accents, add_prefix_space;  // for SentencePiece; for RoBERTa
  std::optional<bool> trim_offsets;                    // for RoBERTa
  std::optional<bool> split_by_punct;                  // for DeBERTa
  std::optional<bool> normalization;                   // for BERTweet
  std::optional<bool> cleans_up, cleans_up_bpe;        // clean_up_tokenization_spaces, in fills
  std::optional<bool> strip_accents;                   // null or absent: as do_lower_case
  std::map<std::string, NamedToken> special_tokens;    // by "cls_token" etc.; empty if it is null
  std::vector<DeclaredToken> added_tokens;             // with their ids, sorted by id
  bool has_decoder = false;                            // added_tokens_decoder, with all of them
  std::vector<NamedToken> additional_special_tokens;   // with extra_special_tokens
  int model_max_length = 0;  // 0: none, or a number so large that it means none
  std::optional<bool> truncate_left;
  std::optional<bool> has_types;  // whether model_input_names has token_type_ids
  std::vector<std::string> notes;
};

TokenizerConfig read_tokenizer_config(const std::string& directory);
// Copies what it says about encodings, whatever makes the tokens.
void set_encoding(const TokenizerConfig& config, Definition& out);
// The error for a special token that is null, but without which the class does not work.
std::runtime_error null_token(const TokenizerConfig& config, const char* name);
// A string field of config.json, or empty.
std::string read_model_text(const std::string& directory, const char* field);
// Whether a class is Hugging Face's slow or fast tokenizer for a stem: "BertTokenizer" or
// "BertTokenizerFast" for "Bert".
bool is_tokenizer_class(std::string_view name, std::string_view stem);
// Whether a class reads vocab.txt like BertTokenizer.
bool is_bert_like_class(std::string_view name);
// Whether transformers takes such a class for a model_type if no file names one.
bool is_bert_like_type(std::string_view type);

// A list of AddedToken or of what is made of one, in which tokens are found by their content; of
// equal ones, the first.
template <typename Token>
class TokenList {
 public:
  // Nobody else may add to the tokens meanwhile.
  explicit TokenList(std::vector<Token>& tokens) : tokens_(tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) places_.emplace(tokens[i].content, i);
  }
  // Adds the token unless there is one. Returns that with its content, and whether it is new.
  std::pair<Token&, bool> add(Token token) {
    const auto [known, is_new] = places_.emplace(token.content, tokens_.size());
    if (is_new) tokens_.push_back(std::move(token));
    return {tokens_[known->second], is_new};
  }

 private:
  std::vector<Token>& tokens_;
  std::unordered_map<std::string, size_t> places_;
};

// The special tokens in transformers' order: those that the files name, otherwise, unless they are
// null there, the class's defaults (of unk_token, sep_token, pad_token, cls_token and mask_token)
// if the vocabulary has them. mask_strips: the class's mask token strips the white space on its
// left.
using TokenIds = std::unordered_map<std::string_view, int32_t>;
std::vector<NamedToken> named_tokens(const TokenizerConfig& config,
                                     const std::array<const char*, 5>& defaults, bool mask_strips,
                                     const TokenIds& ids);

// An entry of added_tokens, or a value of added_tokens_decoder.
AddedToken read_added_token(const JsonField& field);

}  // namespace bert::tokenizer
