// SPDX-License-Identifier: Apache-2.0
//
// Readers of the parts of a tokenizer.json.
#pragma once

#include <vector>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/json_field.h"

namespace bert::tokenizer {

// Appends a normalizer's steps; those of nested sequences are one list.
void read_normalizers(const JsonField& field, std::vector<NormalizerStep>& out, int depth = 0);
// Reads the normalizer, pre-tokenizer and model of a tokenizer.json whose model is Unigram.
void read_unigram(const JsonField& document, Definition& out);
// The same for BPE.
void read_byte_pair(const JsonField& document, Definition& out);
// The members of a model's vocab that are not in out.vocabulary yet.
void read_token_ids(const JsonField& vocab, Definition& out);
// The templates and what is done to offsets.
void read_post_processor(const JsonField& document, Definition& out);

// An id of a token.
int32_t read_id(const JsonField& field);

}  // namespace bert::tokenizer
