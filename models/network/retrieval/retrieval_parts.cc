// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/retrieval_parts.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/network/retrieval/dense_module.h"

namespace bert::models {
namespace {

// FlagEmbedding ignores the tokens that begin and end a text, padding and the unknown token. Those
// without a row in the model have no weight in any case.
std::vector<int32_t> ignored_ids(const tokenizer::TextEncoder& tokenizer, const Config& config) {
  std::vector<int32_t> ids = tokenizer.encode("", std::nullopt, 0).ids;
  const int usual = std::max(0, config.padding);
  const JsonFile file(config.path);
  ids.push_back(
      static_cast<int32_t>(file.integer("pad_token_id", 0, config.vocabulary - 1, usual)));
  if (tokenizer.unknown_id() >= 0) ids.push_back(tokenizer.unknown_id());
  std::erase_if(ids, [&](int32_t id) { return id >= config.vocabulary; });
  return ids;
}

}  // namespace

namespace {

// sentence-transformers' SparseStaticEmbedding has a tokenizer of its own, and adds no special
// tokens.
QueryTable load_query_table(const std::string& folder, const Config& config) {
  const JsonFile file(folder + "/config.json");
  if (file.has("path")) file.fail("path", "none: the weights are read from the folder's own file");
  auto tokenizer = tokenizer::TextEncoder::load(folder);
  const int size = tokenizer.vocabulary_size(), most = tokenizer.default_max_length();
  if (size > config.vocabulary) {
    throw std::runtime_error(fmt::format("{}: the tokenizer has ids up to {}, but the model has {}",
                                         folder, size - 1, config.vocabulary));
  }
  const auto special = static_cast<int>(tokenizer.encode("", std::nullopt, 0).ids.size());
  return {std::move(tokenizer), most > 0 ? most + special : 0, read_table(folder, size)};
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
    if (!settings.query_table.empty()) {
      parts.query_table = load_query_table(settings.query_table, config);
    }
  } else if (!settings.token_weights.empty()) {
    parts.sparse.emplace(read_linear_file(settings.token_weights, config.output, 1, f32, team),
                         ignored_ids(tokenizer, config));
  }
  if (settings.tokens) {
    parts.token_vectors.emplace(*settings.tokens, config, checkpoint, f32, team);
    parts.interaction.emplace(*settings.tokens, tokenizer, config, max_length, asked_for);
  }
  return parts;
}

}  // namespace bert::models
