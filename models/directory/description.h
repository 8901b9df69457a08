// SPDX-License-Identifier: Apache-2.0
//
// What a model says about itself once it is loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/config/texts/text_settings.h"
#include "models/model_impl.h"

namespace bert::models {

struct ChosenPrecision {
  engine::Precision precision;
  const char* reason;
  bool stored_as_bf16 = false;  // the weights are, although precision is f32
};

struct Heads {
  std::optional<Pooler> pooler;
  std::optional<Head> by_sequence, by_token;
  std::optional<EntityHead> entities;
};

// What loading decided, apart from the parts that it built.
struct Decisions {
  std::vector<const HeadRow*> heads;
  MaxLength max_length;
  Prompt prompt;
  bool has_chat;  // pairs are put into a chat template
  ChosenPrecision precision;
  engine::Products products;
  int unevaluated_tensors;
};

// Info::notes, in this order.
std::vector<std::string> make_notes(const std::string& directory, const Config& config,
                                    const Checkpoint& checkpoint,
                                    const tokenizer::TextEncoder& tokenizer, const Encoder& encoder,
                                    const RetrievalParts& retrieval, const Decisions& decisions);

Info make_info(const Config& config, const Workers& workers, const Heads& heads,
               const SentenceEmbedding& sentence, const RetrievalParts& retrieval,
               const Decisions& decisions);

// Info::files, in this order; then all others that Model::load has read in this thread.
std::vector<std::string> files_of(const Config& config, const Checkpoint& checkpoint,
                                  const tokenizer::TextEncoder& tokenizer);

}  // namespace bert::models
