// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/weights/weight_file.h"

namespace bert::models {

// A matrix of float32: the file's own pages where they can be used as they are, else a copy.
struct Weight {
  engine::ConstTensor view;
  engine::Buffer copy;
  const WeightFile* file = nullptr;
  const StoredTensor* stored = nullptr;
};

// The weights of a directory, of the first of these that is there (notes() says so where there are
// several): model.safetensors, the shards of model.safetensors.index.json, pytorch_model.bin, the
// shards of pytorch_model.bin.index.json, TensorFlow's bert_model.ckpt.index or model.ckpt*.index
// with the data beside it, under the names that transformers gives its tensors.
//
// Every tensor is asked for by its name in today's transformers without the prefix ("bert."); that
// and the old spellings of LayerNorm's weights (gamma, beta) are known here and nowhere else. What
// is missing, of another shape or dtype, or left over is an error. Errors are std::runtime_error.
class Checkpoint {
 public:
  // prefix: "bert.", what stands before the encoder's names where there is a head.
  Checkpoint(const std::string& directory, const std::string& prefix)
      : Checkpoint(open_weights(directory), prefix) {}

  const std::string& path() const { return path_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<const StoredTensor*> tensors() const;         // of all files
  const StoredTensor& stored(std::string_view name) const;  // one that is there
  // name: below the encoder ("embeddings.word_embeddings.weight") or a head's
  // ("classifier.weight").
  bool has(std::string_view name) const;
  Weight matrix(const std::string& name, int64_t rows, int64_t columns);
  engine::Buffer vector(const std::string& name, int64_t size);

  // Throws where two matrices differ that the configuration ties to one (some versions of
  // transformers take the one then, some the other).
  void expect_equal(const Weight& stored, const Weight& tied) const;

  // As bert-convert writes an int8 dense layer: name.weight I8 [columns, width], weight_scale F32
  // [columns], bias F32, and where inputs stay in f32 exact_inputs I32 [E] and exact_weight F32
  // [columns, E]. Those of several names lie one below the other and share their exact inputs.
  bool is_int8(const std::string& name) const;
  engine::Linear::Stored int8(const std::vector<std::string>& names, int64_t columns,
                              int64_t width);
  bool is_bf16(const std::string& name) const;  // a dense layer

  // To call when all has been taken: throws where a tensor is left that is neither a known buffer
  // nor begins with one of `not_evaluated`. Returns how many began so.
  int finish(const std::vector<std::string>& not_evaluated) const;

  // Gives the pages of a weight that has been packed back to the system.
  static void release(const Weight& weight);

 private:
  Checkpoint(Weights weights, const std::string& prefix);
  using Entry = std::pair<const WeightFile*, const StoredTensor*>;
  Entry find(std::string_view name) const;
  // A tensor of float32, float16 or bfloat16, or of the one dtype that is asked for.
  Entry take(const std::string& name, const std::vector<int64_t>& shape,
             std::optional<DType> dtype = std::nullopt);
  std::vector<int32_t> exact_inputs(const std::string& name, int64_t width);

  std::string path_;  // what error messages call the whole of it
  std::vector<WeightFile> files_;
  std::vector<std::string> notes_;
  std::string prefix_;
  std::set<std::string, std::less<>> taken_;  // full names
};

}  // namespace bert::models
