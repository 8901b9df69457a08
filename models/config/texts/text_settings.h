// SPDX-License-Identifier: Apache-2.0
//
// What loading decides about texts: how long they may be, and what is put before them.
#pragma once

#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/config/config.h"
#include "models/config/retrieval/retrieval_settings.h"
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
// wanted: its name, or "" for the directory's default. heads: that the checkpoint has. One that is
// asked for is used for queries and documents alike.
Prompt choose_prompt(const std::string& directory, const std::string& wanted, const Config& config,
                     const std::vector<const HeadRow*>& heads, RetrievalSettings& retrieval);

}  // namespace bert::models
