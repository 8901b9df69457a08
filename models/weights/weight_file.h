// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/mapped_file.h"
#include "models/weights/stored_tensor.h"

namespace bert::models {

// Tensors by name, and the mapped file or files that contain them, as read by read_safetensors,
// read_pytorch or read_tensorflow.
class WeightFile {
 public:
  using Metadata = std::map<std::string, std::string>;

  // path: for error messages. A duplicate name is an error.
  WeightFile(std::string path, std::vector<engine::MappedFile> maps,
             std::vector<StoredTensor> tensors, Metadata metadata = {});

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // sorted by name
  const StoredTensor* find(std::string_view name) const;                 // nullptr if there is none
  const Metadata& metadata() const { return metadata_; }
  // Their bytes must be the file's.
  void replace_tensors(std::vector<StoredTensor> tensors);

  // Throws if the file stores a checksum that the tensor's bytes don't match.
  void check(const StoredTensor& tensor) const;
  // Gives the tensor's pages back to the system.
  void release(const StoredTensor& tensor) const;

 private:
  std::string path_;
  std::vector<engine::MappedFile> maps_;
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

// Maps a file of weights. Throws if it is not a regular file, or a Git LFS pointer.
engine::MappedFile map_weights(const std::string& path);

// Throws if the bytes do not match their checksum.
void check_sum(const Checksum& sum, const std::string& path);

// Throws std::runtime_error("PATH: REASON").
[[noreturn]] void fail(const std::string& path, const std::string& reason);

// The weights of a directory, read from the first of these that exists: model.safetensors, its
// .index.json, pytorch_model.bin, its .index.json, TensorFlow's bert_model.ckpt.index, and
// model.ckpt*.index, of which there may be only one.
struct Weights {
  std::string path;  // of the file, or of the index if there are several
  std::vector<WeightFile> files;
  std::vector<std::string> notes;       // which file was chosen if there are several
  std::vector<std::string> added = {};  // the files of an adapter
};
Weights open_weights(const std::string& directory);

}  // namespace bert::models
