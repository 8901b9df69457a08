// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/unigram/unigram.h"
#include "tokenizer/wordpiece/bert_normalizer.h"
#include "tokenizer/wordpiece/word_piece.h"

namespace bert::tokenizer {

// One part of a template: the tokens of a text, or special tokens.
struct TemplatePiece {
  enum class Kind { first, second, special } kind = Kind::special;
  std::vector<int32_t> ids;  // of special tokens
  int32_t type_id = 0;
};
using Template = std::vector<TemplatePiece>;

struct DeclaredToken : AddedToken {
  int64_t id = -1;  // as the file says; -1 where it does not
};

// All that a directory's files say of a tokenizer.
struct Definition {
  std::string file;  // the one that defines it, for messages
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  enum class Model { word_piece, unigram } model = Model::word_piece;
  WordPieceOptions word_piece;   // of WordPiece, but `unknown` of either
  NormalizerOptions normalizer;  // of WordPiece
  UnigramOptions unigram;        // of Unigram
  std::vector<DeclaredToken> added_tokens;
  std::string mask;  // the mask token; empty where none is named
  Template single, pair;
  // RobertaProcessing: offsets of added tokens without the white space that they stripped, but for
  // one space at a text's beginning where keeps_first.
  bool trim_offsets = false, keeps_first = false;
  int max_length = 0;  // 0: none is named
  bool truncate_left = false;
  std::vector<std::string> notes;
};

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], B of type 1; or RoBERTa's <s> A </s></s> B </s>, of type
// 0.
void set_templates(int32_t cls, int32_t sep, bool is_roberta, Definition& out);

// From tokenizer.json; tokenizer_config.json and vocab.txt beside it are compared with it.
Definition read_tokenizer_json(const std::string& directory);
// From vocab.txt, with tokenizer_config.json, special_tokens_map.json and added_tokens.json where
// there are such files; elsewhere as Hugging Face's BertTokenizer defaults.
Definition read_vocab_txt(const std::string& directory);
// From a SentencePiece model of ALBERT, XLM-RoBERTa or CamemBERT, which tokenizer_config.json or
// config.json names, with the other files as above; as Hugging Face's fast tokenizers read it.
Definition read_sentence_piece_directory(const std::string& directory, const std::string& model);

}  // namespace bert::tokenizer
