// SPDX-License-Identifier: Apache-2.0
//
// Readers of the parts of a tokenizer.json.
#pragma once

#include <vector>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/json_field.h"

namespace bert::tokenizer {

// Appends a normalizer's steps; those of nested sequences are one list.
void read_normalizers(const JsonField& field, std::vector<Normalizer>& out, int depth = 0);
// The same for a pre-tokenizer.
void read_pre_tokenizers(const JsonField& field, std::vector<PreTokenizer>& out, int depth = 0);
// The same for a decoder.
void read_decoders(const JsonField& field, std::vector<Decoder>& out, int depth = 0);
// Read a tokenizer.json's model.
void read_unigram(const JsonField& model, Definition& out);
void read_byte_pair(const JsonField& model, Definition& out);
void read_word_piece(const JsonField& model, Definition& out);
void read_word_level(const JsonField& model, Definition& out);
// The members of a model's vocab that are not in out.vocabulary yet.
void read_token_ids(const JsonField& vocab, Definition& out);
// Sets the options of a fast pipeline if one does all that was read, else by_parts.
void pick_pipeline(Definition& out);
// The templates and what is done to offsets.
void read_post_processor(const JsonField& document, Definition& out);

// An id of a token.
int32_t read_id(const JsonField& field);
// A string of one character.
char32_t read_scalar(const JsonField& field);
// {"String": "..."} or {"Regex": "..."}
struct PatternText {
  std::shared_ptr<const Pattern> pattern;
  std::string text;
  bool is_expression;
};
PatternText read_pattern(const JsonField& field);

}  // namespace bert::tokenizer
