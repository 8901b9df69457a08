// SPDX-License-Identifier: Apache-2.0
//
// What a model has for search besides the vector of a whole input.
#pragma once

#include <optional>
#include <string>

#include "models/network/retrieval/late_interaction.h"
#include "models/network/retrieval/sparse_head.h"
#include "models/network/retrieval/token_vectors.h"

namespace bert::models {

// A weight for each token: a query's vector has those of its tokens, and the model is not run.
struct QueryTable {
  tokenizer::TextEncoder tokenizer;
  int limit;              // most tokens of a query, with the tokenizer's special ones
  engine::Buffer weight;  // [V]
};

struct RetrievalParts {
  bool embeds = true;  // there is a vector of the whole input
  std::optional<SparseHead> sparse = {};
  std::optional<QueryTable> query_table = {};
  std::optional<TokenVectors> token_vectors = {};  // both or neither
  std::optional<LateInteraction> interaction = {};
  Comparison comparison = Comparison::cosine;           // of embeddings
  std::string query_prompt = {}, document_prompt = {};  // of embeddings and sparse vectors
  // How two inputs are compared: "cosine", "dot", "euclidean" or "manhattan" for embeddings, "dot"
  // for sparse vectors, "maxsim", or "meanmaxsim", which is divided by the number of the query's
  // vectors.
  const char* similarity() const;
};

// max_length: of any text; asked_for: the caller's, or 0.
RetrievalParts load_retrieval(const RetrievalSettings& settings, const Config& config,
                              Checkpoint& checkpoint, const tokenizer::TextEncoder& tokenizer,
                              int max_length, int asked_for, const engine::Product& f32,
                              engine::Team& team);

}  // namespace bert::models
