// SPDX-License-Identifier: Apache-2.0
//
// What sentence-transformers' LogitScore module says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/config/families/families.h"
#include "models/config/texts/chat_template.h"

namespace bert::models {

// A causal language model's score of a pair: the last token's logit of one token, such as "yes", or
// the difference of two tokens' logits. Only these rows of lm_head are evaluated.
inline constexpr HeadRow kLogitScore = {.suffix = "ForCausalLM",
                                        .kind = HeadKind::classification,
                                        .reads = ReadBy::classifier_pooling,
                                        .output = "lm_head"};

// The module's true_token_id and, if there is one, its false_token_id; nothing if modules.json
// names no such module. vocabulary: its size.
std::vector<int> read_score_tokens(const std::string& directory, int vocabulary);

// The chat template that pairs are put into, with the prompt; nothing if they are encoded as other
// models' pairs. That is so without a chat template, or if sentence_bert_config.json leaves out
// "message".
std::optional<ChatTemplate> read_chat_template(const std::string& directory,
                                               const std::string& prompt);

}  // namespace bert::models
