// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/mapped_file.h"
#include "models/weights/stored_tensor.h"

namespace bert::models {

// Tensors by name, and the mapped file, or files, that they lie in. read_safetensors, read_pytorch
// and read_tensorflow make one.
class WeightFile {
 public:
  using Metadata = std::map<std::string, std::string>;

  // path: what error messages call it. A name that is there twice is an error.
  WeightFile(std::string path, std::vector<engine::MappedFile> maps,
             std::vector<StoredTensor> tensors, Metadata metadata = {});

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // by name
  const StoredTensor* find(std::string_view name) const;  // nullptr where there is none
  const Metadata& metadata() const { return metadata_; }

  // Throws where the file has a checksum of the tensor and its bytes have another.
  void check(const StoredTensor& tensor) const;
  void release(const StoredTensor& tensor) const;

 private:
  std::string path_;
  std::vector<engine::MappedFile> maps_;
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

// What is wrong with the file, as an error.
[[noreturn]] void fail(const std::string& path, const std::string& reason);

// The weights of a directory, in the first of these that is there: model.safetensors or its
// .index.json, pytorch_model.bin or its .index.json, or TensorFlow's bert_model.ckpt.index or the
// one model.ckpt*.index.
struct Weights {
  std::string path;  // of the file, or of the index that names several
  std::vector<WeightFile> files;
  std::vector<std::string> notes;  // which was taken, where there are several
};
Weights open_weights(const std::string& directory);

}  // namespace bert::models
