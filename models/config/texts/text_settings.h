// SPDX-License-Identifier: Apache-2.0
//
// What loading decides about texts: how long they may be, and what is put before them.
#pragma once

#include <string>

#include "models/bert_infer.h"
#include "models/config/config.h"
#include "tokenizer/text_encoder.h"

namespace bert::models {

struct MaxLength {
  int tokens;
  std::string source;
};
// In the order of precedence that Options::max_length documents.
MaxLength choose_max_length(const std::string& directory, const Options& options,
                            const Config& config, const tokenizer::TextEncoder& tokenizer);

struct Prompt {
  std::string name, text;
};
// The prompt for embeddings, and for scores as sentence-transformers' CrossEncoder computes them.
// wanted: its name, or "" for the directory's default. is_taken: the model's task takes one.
Prompt choose_prompt(const std::string& directory, const std::string& wanted, const Config& config,
                     bool is_taken);

}  // namespace bert::models
