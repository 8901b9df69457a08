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

#include "engine/kernels/row_kernels.h"
#include "models/weights/json_file.h"

namespace bert::models {

// How the hidden states of a sequence become one row: the first or the last token's, the greatest
// of each column, or their sum over the number of tokens or its square root, or with weights 1, 2…
enum class Pooling { cls, max, mean, mean_sqrt_len, weighted_mean, last };

// modules.json and the folders it names: Pooling, then dense layers, then normalisation. Without
// modules.json, or for a CrossEncoder (which has a head instead), the mean of the last hidden
// state.
struct SentenceModules {
  struct Dense {
    std::string directory;  // holds its weights
    int64_t width, columns;
    bool has_bias;
    engine::Activation activation;
    bool residual = false;  // its input is added, by a matrix without a bias where widths differ
  };
  bool configured = false;                          // whether a Pooling module was read
  std::vector<Pooling> poolings = {Pooling::mean};  // their rows are concatenated
  std::vector<Dense> dense;
  bool normalize = false;              // to Euclidean length 1
  std::optional<int64_t> truncate_to;  // truncate_dim: only the first columns are the embedding
  int64_t columns = 0;                 // F, the size of the embedding
};
SentenceModules read_sentence_modules(const std::string& directory, int hidden, bool has_head);
// A Dense module's config.json. features: what it must read and write, "sentence_embedding" or
// "token_embeddings".
SentenceModules::Dense read_dense(const std::string& directory, int64_t width,
                                  const std::string& features);

// modules.json, or nothing.
struct ModuleList {
  struct Module {
    std::string type, name, folder;  // name: of sentence-transformers' class, else the type
  };
  explicit ModuleList(const std::string& directory);
  bool has(std::string_view name) const;
  [[noreturn]] void fail(size_t i, const std::string& reason) const;
  [[noreturn]] void refuse(size_t i, const char* expected) const;

  std::string path;
  bool exists = false;
  std::vector<Module> modules;
};

// config_sentence_transformers.json.
struct Prompts {
  std::map<std::string, std::string> by_name;  // texts to put before an input, such as "query: "
  std::string default_name;                    // of the one that is used unless told, or ""
};
Prompts read_prompts(const std::string& directory);

// sentence_bert_config.json, or the same file under another family's name. Nothing if there is
// none.
std::optional<JsonFile> read_sentence_settings(const std::string& directory);

}  // namespace bert::models
