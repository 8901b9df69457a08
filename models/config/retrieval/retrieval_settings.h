// SPDX-License-Identifier: Apache-2.0
//
// What a directory's files say about vectors for search: sparse ones, and one per token for late
// interaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/config/config.h"
#include "models/config/sentence_settings.h"

namespace bert::models {

// SPLADE (Formal et al. 2021): weights of the vocabulary from a masked language model's logits.
struct SpladeSettings {
  bool sums = false;          // over the tokens; otherwise takes the greatest
  bool is_log_twice = false;  // log1p(log1p(relu(x))) instead of log1p(relu(x))
};

// Late interaction (Khattab and Zaharia 2020): a vector for each token.
struct TokenSettings {
  enum class Source { modules, checkpoint, file };
  Source source = Source::modules;
  std::vector<SentenceModules::Dense> dense;  // for Source::modules
  std::string file;                           // for Source::file: BGE-M3's colbert_linear.pt
  bool normalizes = false;                    // each vector to Euclidean length 1
  bool has_first = true;                      // the first token has a vector too

  struct Side {
    std::string marker_field, marker;  // a token to insert after the first; "" for none
    std::string prompt;                // to put before the text
    int length = 0;                    // most tokens; 0: as many as any text may have
    bool skips = false;                // leaves out the skiplist
  } query, document;
  struct Expansion {  // of queries, by mask tokens
    int length = 32;
    bool is_exact = true;  // longer queries are truncated to `length`
    bool is_attended = false;
    std::string token = {};  // "": the mask token
  };
  std::optional<Expansion> expansion;
  std::vector<std::string> skiplist;  // tokens whose vectors are left out
  bool is_mean = false;               // the score is divided by the number of the query's vectors
};

// How two embeddings are compared; distances count negatively.
enum class Comparison { cosine, dot, euclidean, manhattan };
const char* name_of(Comparison comparison);

struct RetrievalSettings {
  std::optional<SpladeSettings> splade;
  std::string token_weights;  // BGE-M3's sparse_linear.pt, or ""
  std::string query_table;    // the folder with the weights of queries' tokens beside SPLADE, or ""
  std::optional<TokenSettings> tokens;
  bool embeds = true;  // there is also a vector of the whole input
  Comparison comparison = Comparison::cosine;
  // What encode_query() and encode_document() put before texts for embeddings and sparse vectors.
  std::string query_prompt, document_prompt;
};
RetrievalSettings read_retrieval_settings(const std::string& directory, const Config& config);

}  // namespace bert::models
