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

// Where a weight was read from.
struct WeightOrigin {
  const WeightFile* file = nullptr;
  const StoredTensor* stored = nullptr;

  std::string description() const;  // "FILE: tensor 'NAME'", for messages
};

// A float32 matrix: a view of the mapped file if its bytes can be used as they are, or a copy.
struct Weight : WeightOrigin {
  engine::ConstTensor view;
  engine::Buffer copy;
};

// A matrix of which rows are looked up: a view of the mapped file in any type of floats, or a copy
// in float32 if they are transposed, not aligned, or an adapter adds to them.
struct WeightTable : WeightOrigin {
  engine::Table view;
  engine::Buffer copy;
};

// The weights of a directory, as open_weights() finds them, by name.
//
// Tensors are requested by their names in current transformers without the encoder's prefix
// ("bert."). The prefix and the old spellings of LayerNorm's weights (gamma, beta) are handled here
// and nowhere else. A tensor that is missing, left over, or of another shape or dtype is an error.
// Errors are std::runtime_error.
class Checkpoint {
 public:
  // prefixes: those that the encoder's tensors may have if there is a head, such as "bert.". words:
  // the possible names of the word embeddings, by which the prefix is found.
  Checkpoint(Weights weights, const std::vector<std::string>& prefixes,
             const std::vector<std::string>& words);

  const std::string& path() const { return path_; }
  std::vector<std::string> paths() const;  // of all files
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<const StoredTensor*> tensors() const;  // of all files
  bool is_used(const StoredTensor& tensor) const { return taken_.contains(tensor.name); }
  const StoredTensor& stored(std::string_view name) const;  // it must exist
  const std::string& words() const { return words_; }       // the word embeddings' name
  // name: of the encoder ("embeddings.word_embeddings.weight") or a head ("classifier.weight").
  bool has(std::string_view name) const;
  int64_t first_dimension(const std::string& name) const;  // 1 if it has none, or is 0
  Weight matrix(const std::string& name, int64_t rows, int64_t columns);
  WeightTable table(const std::string& name, int64_t rows, int64_t columns);
  // So many matrices in a tensor [count, rows, columns], one above the other.
  WeightTable stacked(const std::string& name, int64_t count, int64_t rows, int64_t columns);
  // The same, but a value that is not finite is an error. Packing a Linear finds those. The word
  // embeddings are read in place, where a search would read the whole table.
  Weight finite_matrix(const std::string& name, int64_t rows, int64_t columns);
  engine::Buffer vector(const std::string& name, int64_t size);  // finite values
  engine::Buffer values(const std::string& name, const std::vector<int64_t>& shape);  // the same

  // Throws if two matrices differ although the configuration ties them: versions of transformers
  // disagree on which of them to use.
  void expect_equal(const WeightTable& stored, const WeightTable& tied, const char* reason) const;

  // An int8 dense layer as bert-convert writes it: NAME.weight I8 [columns, width], weight_scale
  // F32 [columns], bias F32 [columns], and if E inputs stay in f32, exact_inputs I32 [E] and
  // exact_weight F32 [columns, E]. Layers of several names are stacked into one; they must have the
  // same exact inputs.
  bool is_int8(const std::string& name) const;
  engine::Linear::Stored int8(const std::vector<std::string>& names,
                              const std::vector<int64_t>& columns, int64_t width);
  bool is_bf16(const std::string& name) const;  // a dense layer

  // Call this last: throws if a tensor was not requested, unless it is a known buffer or its name
  // begins with one of `not_evaluated`. Returns the number of the latter.
  int finish(const std::vector<std::string>& not_evaluated);

  // Gives the pages of a weight back to the system, once it has been packed.
  static void release(const WeightOrigin& weight);

 private:
  using Entry = std::pair<const WeightFile*, const StoredTensor*>;
  Entry find(std::string_view name) const;
  // dtype: the only one accepted; by default F32, F16 and BF16 are.
  Entry take(const std::string& name, const std::vector<int64_t>& shape,
             std::optional<DType> dtype = std::nullopt);
  static WeightTable as_table(const Entry& entry, int64_t rows, int64_t columns);
  void check(const Entry& entry);  // its checksum, once
  std::vector<int32_t> exact_inputs(const std::string& name, int64_t width);

  std::string path_;  // for error messages: the file or the index of several
  std::vector<WeightFile> files_;
  std::vector<std::string> notes_, added_;
  std::string prefix_, words_;
  std::set<std::string, std::less<>> taken_;  // full names
  std::set<const std::byte*> checked_;        // by where the bytes begin
};

}  // namespace bert::models
