// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens/added_tokens.h"
#include "tokenizer/bytepair/merging/byte_pair.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/offsets/offset_trimmer.h"
#include "tokenizer/parts/normalizers.h"
#include "tokenizer/parts/pre_tokenizers.h"
#include "tokenizer/unigram/unigram.h"
#include "tokenizer/wordpiece/bert_normalizer.h"
#include "tokenizer/wordpiece/word_piece.h"

namespace bert::tokenizer {

// One part of a template: the tokens of a text, or special tokens.
struct TemplatePiece {
  enum class Kind { first, second, special } kind = Kind::special;
  std::vector<int32_t> ids;  // of special tokens
  int32_t type_id = 0;
  std::vector<std::string> strings = {};  // of special tokens, if not the vocabulary's
  std::vector<bool> after = {};  // of a text: whether each TrimPass sees special tokens before it
};
using Template = std::vector<TemplatePiece>;

// The ByteLevel pre-tokenizer, and what precedes it: Digits, or a Split with its own expression.
struct ByteLevelOptions {
  bool add_prefix_space = true;
  bool use_regex = true;
  bool single_digits = false;
  int split_digits = 0;  // the most in a piece of that Split (next_split_piece()); 0: no Split
};

struct DeclaredToken : AddedToken {
  int64_t id = -1;  // as the file says; -1 if it does not
};

// Everything that a directory's files say about a tokenizer.
struct Definition {
  std::string file;  // the file that defines it, for messages
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  enum class Model { word_piece, unigram, byte_pair, word_level } model = Model::word_piece;
  WordPieceOptions word_piece;   // for WordPiece; `unknown`: for all
  NormalizerOptions normalizer;  // for WordPiece
  UnigramOptions unigram;        // for Unigram
  BytePairOptions byte_pair;     // for BPE
  bool is_fast_bpe = false;      // for BPE: of PhoBERT's and BERTweet's Python classes
  std::vector<NormalizerStep> steps;
  ByteLevelOptions byte_level;
  // A tokenizer.json's components. by_parts: no fast pipeline, which would use the fields above,
  // can run them.
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  bool by_parts = false;
  // What every space becomes, if that is all that is done to a text before BPE; otherwise empty. If
  // set, most vocabularies have a fast pipeline although by_parts is set.
  std::string space_mark;
  std::vector<DeclaredToken> added_tokens;
  std::string mask;  // the mask token; empty if none is named
  Template single, pair;
  std::vector<TrimPass> trims;
  std::vector<Decoder> decoders;  // from a tokenizer.json; other files cannot have any
  bool has_decoders = false;      // there was a tokenizer.json: its Sequence may be empty
  int max_length = 0;             // 0: none given
  bool truncate_left = false;
  bool has_types = true;        // if not, all segment ids are 0
  bool first_gets_odd = false;  // see longest_first()
  std::vector<std::string> notes;
};

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], B of type 1; or RoBERTa's <s> A </s></s> B </s>, of type
// 0.
void set_templates(int32_t cls, int32_t sep, bool is_roberta, Definition& out);

// The decoders of files that cannot have any.
std::vector<Decoder> default_decoders(const Definition& definition);

// Reads tokenizer.json and compares it with tokenizer_config.json and vocab.txt, where present.
Definition read_tokenizer_json(const std::string& directory);
// Reads vocab.txt, and tokenizer_config.json, special_tokens_map.json and added_tokens.json where
// present; the defaults are Hugging Face's BertTokenizer's.
Definition read_vocab_txt(const std::string& directory);
// Reads vocab.json and merges.txt, and the other files as above, like RobertaTokenizer.
Definition read_vocab_json(const std::string& directory);
// Whether read_bpe_codes() reads the directory: its class is PhoBERT's or BERTweet's, whatever
// tokenizer.json says, or there is a bpe.codes and neither a class nor a tokenizer.json.
bool has_bpe_codes(const std::string& directory);
// Reads vocab.txt and bpe.codes, and the other files as above, like PhobertTokenizer and
// BertweetTokenizer.
Definition read_bpe_codes(const std::string& directory);
// Reads a SentencePiece model of ALBERT, XLM-RoBERTa, CamemBERT or DeBERTa, as
// tokenizer_config.json or config.json says, and the other files as above, like Hugging Face's fast
// tokenizers.
Definition read_sentence_piece_directory(const std::string& directory, const std::string& model);

}  // namespace bert::tokenizer
