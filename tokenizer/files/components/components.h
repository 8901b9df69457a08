// SPDX-License-Identifier: Apache-2.0
//
// Readers of the parts of a tokenizer.json.
#pragma once

#include <vector>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/json_field.h"

namespace bert::tokenizer {

// Calls read(part) for each part of a component in order, including those of nested sequences.
// parts: the member of a Sequence that lists them.
template <typename Read>
void for_each_part(const JsonField& field, const char* parts, const Read& read, int depth = 0) {
  constexpr int kMaxDepth = 8;  // deeper than any real file, yet easy on the stack
  const bool is_sequence = field.is_object() && field.has("type") && field.at("type").is_string() &&
                           field.at("type").string() == "Sequence";
  if (!is_sequence) return read(field);
  if (depth == kMaxDepth) field.fail_with("sequences are nested too deeply");
  for (const JsonField& part : field.at(parts).elements()) {
    for_each_part(part, parts, read, depth + 1);
  }
}

// Appends a normalizer's steps, flattening nested sequences into one list.
void read_normalizers(const JsonField& field, std::vector<Normalizer>& out);
// The same for a pre-tokenizer.
void read_pre_tokenizers(const JsonField& field, std::vector<PreTokenizer>& out);
// The same for a decoder.
void read_decoders(const JsonField& field, std::vector<Decoder>& out);
void read_unigram(const JsonField& model, Definition& out);
void read_byte_pair(const JsonField& model, Definition& out);
void read_word_piece(const JsonField& model, Definition& out);
void read_word_level(const JsonField& model, Definition& out);
// Appends the members of a model's vocab to out.vocabulary.
void read_token_ids(const JsonField& vocab, Definition& out);
// Sets the options of a fast pipeline if one covers all that was read, otherwise by_parts.
void pick_pipeline(Definition& out);
// Reads the templates, and how offsets are trimmed.
void read_post_processor(const JsonField& document, Definition& out);

// A token's id.
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
