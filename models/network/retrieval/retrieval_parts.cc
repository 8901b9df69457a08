// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/retrieval_parts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bert::models {
namespace {

// FlagEmbedding ignores the tokens that begin and end a text, padding and the unknown token.
std::vector<int32_t> ignored_ids(const tokenizer::TextEncoder& tokenizer, const Config& config) {
  std::vector<int32_t> ids = tokenizer.encode("", std::nullopt, 0).ids;
  const int usual = std::max(0, config.padding);
  const JsonFile file(config.path);
  ids.push_back(
      static_cast<int32_t>(file.integer("pad_token_id", 0, config.vocabulary - 1, usual)));
  if (tokenizer.unknown_id() >= 0) ids.push_back(tokenizer.unknown_id());
  return ids;
}

}  // namespace

const char* RetrievalParts::similarity() const {
  if (embeds) return name_of(comparison);
  if (sparse) return "dot";
  return interaction->is_mean() ? "meanmaxsim" : "maxsim";
}

RetrievalParts load_retrieval(const RetrievalSettings& settings, const Config& config,
                              Checkpoint& checkpoint, const tokenizer::TextEncoder& tokenizer,
                              int max_length, int asked_for, const engine::Product& f32,
                              engine::Team& team) {
  RetrievalParts parts{.embeds = settings.embeds,
                       .comparison = settings.comparison,
                       .query_prompt = settings.query_prompt,
                       .document_prompt = settings.document_prompt};
  if (settings.splade) {
    parts.sparse.emplace(*settings.splade);
  } else if (!settings.token_weights.empty()) {
    parts.sparse.emplace(read_linear_file(settings.token_weights, config.hidden, 1, f32, team),
                         ignored_ids(tokenizer, config));
  }
  if (settings.tokens) {
    parts.token_vectors.emplace(*settings.tokens, config, checkpoint, f32, team);
    parts.interaction.emplace(*settings.tokens, tokenizer, config, max_length, asked_for);
  }
  return parts;
}

}  // namespace bert::models
