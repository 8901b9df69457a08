// SPDX-License-Identifier: Apache-2.0
//
// The files that sentence-transformers writes beside a model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernels/kernel_table.h"
#include "models/config/config.h"
#include "models/weights/json_file.h"

namespace bert::models {

// How a sequence's hidden states become one row: the first or the last token's, the maximum of each
// column, their sum divided by the number of tokens or its square root, or a mean with rising
// weights; or that of the token that Config::text_state says.
enum class Pooling { cls, max, mean, mean_sqrt_len, weighted_mean, last, end };

// modules.json and the folders it names: Pooling, then dense layers, then normalisation or
// Perplexity's rounding to whole numbers. Without modules.json, or for a CrossEncoder (which has a
// head instead): the mean of the last hidden state, or of a causal language model the last token's.
// CLIP pools by itself without a Pooling.
struct SentenceModules {
  struct Dense {
    std::string directory;  // holds its weights, unless the model's do
    int64_t width, columns;
    bool has_bias;
    engine::Activation activation;
    bool residual = false;    // adds its input, times a matrix without a bias if the widths differ
    std::string tensor = {};  // of the model's weights
  };
  bool configured = false;                          // a Pooling module was read
  std::vector<Pooling> poolings = {Pooling::mean};  // their rows are concatenated
  int end_token = -1;                               // for Pooling::end
  std::vector<Dense> dense;
  bool normalize = false;              // to Euclidean length 1
  bool to_int8 = false;                // every number x becomes 127 tanh x, rounded
  std::optional<int64_t> truncate_to;  // truncate_dim: the embedding is only the first columns
  int64_t columns = 0;                 // F, the size of the embedding
};
SentenceModules read_sentence_modules(const std::string& directory, const Config& config,
                                      bool has_head);
// A Dense module's config.json. features: what it must read and write, "sentence_embedding" or
// "token_embeddings".
SentenceModules::Dense read_dense(const std::string& directory, int64_t width,
                                  const std::string& features);

// modules.json, or nothing. Of a Router, the modules for documents.
struct ModuleList {
  struct Module {
    std::string type, name, folder;  // name: sentence-transformers' class, otherwise the type
  };
  explicit ModuleList(const std::string& directory);
  bool has(std::string_view name) const;
  [[noreturn]] void fail(size_t i, const std::string& reason) const;
  [[noreturn]] void refuse(size_t i, const char* expected) const;

  std::string path;
  bool exists = false;
  std::vector<Module> modules;
  std::string query_table;  // the folder of a Router's SparseStaticEmbedding for queries, or ""

 private:
  void read_routes(const std::string& directory);
};

// Where the configuration, the weights and the tokenizer are: the directory itself, or the folder
// that modules.json names for its transformer, such as "0_Transformer" in older ones.
std::string transformer_folder(const std::string& directory);
// Throws if there is none, going by modules.json, as in a StaticEmbedding.
void expect_transformer(const std::string& directory);

// config_sentence_transformers.json.
struct Prompts {
  std::map<std::string, std::string> by_name;  // texts to put before an input, such as "query: "
  std::string default_name;                    // used if none is asked for; or ""
};
Prompts read_prompts(const std::string& directory);
std::string default_prompt(const std::string& directory);  // its text, or ""

// sentence_bert_config.json, or the same under another family's name, in the transformer's folder,
// if there is one, and a modules.json: without, sentence-transformers does not read it either.
std::optional<JsonFile> read_sentence_settings(const std::string& directory);

}  // namespace bert::models
