// SPDX-License-Identifier: Apache-2.0
//
// Sentence embeddings, as sentence-transformers configures them beside a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/network/bert.h"
#include "models/weights/json_file.h"

namespace bert::models {

// modules.json and the folders that it names: Pooling, then dense layers, then normalising. Without
// it the mean of the last hidden state.
class SentenceEmbedding {
 public:
  SentenceEmbedding(const std::string& directory, const Config& config, engine::ThreadPool& pool);

  std::string description() const;                            // "cls, normalised"
  int64_t columns() const { return cut_ ? *cut_ : width(); }  // F
  // Whether only the first token of each sequence is read.
  engine::Reads reads() const {
    return kind_ == Kind::cls ? engine::Reads::first : engine::Reads::all;
  }
  // [N, F] in the workspace, of the last hidden state: [T, H] for Reads::all, [N, H] for first.
  engine::Tensor run(const Batch& batch, engine::Reads reads, engine::Tensor x,
                     engine::ThreadPool& pool, Workspace& space) const;

 private:
  enum class Kind { cls, mean, max };
  int64_t width() const { return dense_.empty() ? hidden_ : dense_.back().columns(); }
  void read_pooling(const std::string& path);
  void read_dense(const std::string& directory, engine::ThreadPool& pool);
  void pool_rows(engine::ConstTensor x, int64_t begin, int64_t end, float* y) const;

  Kind kind_ = Kind::mean;
  bool normalize_ = false;  // to Euclidean length 1
  bool configured_ = false;
  int hidden_;
  std::optional<int64_t> cut_;  // truncate_dim: the first columns are the embedding
  std::vector<engine::Linear> dense_;
};

// config_sentence_transformers.json: what stands before a text by its purpose ("query: "), by name;
// and the name of the one that always does, or "".
struct Prompts {
  std::map<std::string, std::string> by_name;
  std::string usual;
};
Prompts read_prompts(const std::string& directory);
// sentence_bert_config.json, or the same under the name of another family; none where there is
// none.
std::optional<JsonFile> read_sentence_settings(const std::string& directory);

}  // namespace bert::models
