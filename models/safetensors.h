// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/mapped_file.h"

namespace bert::models {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::string_view dtype_name(DType dtype);  // as safetensors spells it: "F32"

struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, at any alignment

  int64_t elements() const;
  double at(int64_t i) const;
  void copy_to(float* values) const;  // every element, as float32; values: [elements()]
};

// A safetensors file: eight bytes of header length, a JSON header, data. The header is checked
// whole: the tensors must lie end to end and fill the data, each as long as its dtype and shape
// say. Errors are std::runtime_error that name the file and the tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // by name
  const StoredTensor* find(std::string_view name) const;  // nullptr where there is none
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  void release(const StoredTensor& tensor) const { file_.release(tensor.bytes); }

 private:
  engine::MappedFile file_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace bert::models
