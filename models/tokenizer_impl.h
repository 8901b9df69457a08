// SPDX-License-Identifier: Apache-2.0
//
// What the public API's Tokenizer holds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/calls/encode_batch.h"
#include "models/chat_pairs.h"
#include "tokenizer/text_encoder.h"

namespace bert {

struct __attribute__((visibility("hidden"))) Tokenizer::Impl {
  std::vector<Encoding> encode(std::span<const Input> inputs,
                               const models::ForEach& for_each) const;
  // The same with another prompt and limit.
  std::vector<Encoding> encode_after(const std::string& before, int limit,
                                     std::span<const Input> inputs,
                                     const models::ForEach& for_each) const;
  // The same of pairs in the chat template.
  Encoding encode_chat(const Input& input) const;
  std::vector<Encoding> encode_chat(std::span<const Input> inputs,
                                    const models::ForEach& for_each) const;
  // The prompt is not part of the first text: its tokens get empty offsets, and the first text's
  // offsets are shifted back by its length.
  static void remove_prompt(const std::string& before, Encoding& encoding);

  tokenizer::TextEncoder text_encoder;
  int max_length;                                        // 0: no limit
  std::string prompt;                                    // put before each first text
  std::optional<models::ChatPairs> chat = std::nullopt;  // puts pairs, and the prompt, together
  bool is_models = false;                                // a Model's: with `chat`, pairs only
  bool is_for_chat(const Input& input) const { return chat && (is_models || input.second); }
};

}  // namespace bert
