// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/weights/safetensors.h"

namespace bert::tools {

// The position of a stage in the forward pass; nothing for an unknown name.
std::optional<int> stage_order(const std::string& name, int layers);

struct ReferenceStage {
  int order;
  const models::StoredTensor* expected;
  bool hidden_states;  // embeddings or a layer
  bool by_token;       // rows are tokens, [T, columns], rather than inputs, [N, columns]
};

// The length to which the file's texts were truncated, in tokens; 0: the model's own.
int max_length_of_reference(const std::string& path);

// The inputs and stages of a reference file, checked against the model. Its errors are
// std::runtime_error with the file's name.
class ReferenceFile {
 public:
  // The model must outlive it.
  ReferenceFile(const std::string& path, const bert::Model& model);

  const std::string& path() const { return path_; }
  const std::vector<bert::Encoding>& encodings() const { return encodings_; }  // [N]
  const std::vector<bert::Input>& texts() const { return texts_; }  // [N], or empty if it has none
  const std::vector<int64_t>& starts() const { return starts_; }    // [N + 1]
  const std::vector<ReferenceStage>& stages() const { return stages_; }  // in their order
  [[noreturn]] void fail(const std::string& reason) const;

  // If the file holds both texts and ids: whether the tokenizer makes these ids of the texts.
  int64_t ids_compared() const { return ids_compared_; }
  int64_t texts_differing() const { return texts_differing_; }
  const std::string& ids_difference() const { return ids_difference_; }  // the first, or empty

 private:
  void read_texts();
  const models::StoredTensor& integers(const char* name) const;
  void read_ids();
  int32_t id(const models::StoredTensor& tensor, int64_t i) const;
  void compare_ids(const std::vector<bert::Encoding>& expected);
  void find_stages();

  const std::string path_;
  const bert::Model& model_;
  models::WeightFile file_;
  std::vector<bert::Input> texts_;
  std::vector<bert::Encoding> encodings_;
  std::vector<int64_t> starts_ = {0};
  std::vector<ReferenceStage> stages_;
  int64_t ids_compared_ = 0, texts_differing_ = 0;
  std::string ids_difference_;
};

}  // namespace bert::tools
