// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/files/definition.h"
#include "tokenizer/files/json_field.h"

namespace bert::tokenizer {

// Reads the normalizer, pre-tokenizer and model of a tokenizer.json whose model is Unigram.
void read_unigram(const JsonField& document, Definition& out);

}  // namespace bert::tokenizer
