// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert::models {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::string_view dtype_name(DType dtype);  // as safetensors spells it: "F32"
std::optional<DType> dtype_named(std::string_view name);
int64_t dtype_size(DType dtype);  // bytes of an element

// A tensor in its file. Whoever fills this in must have checked that all elements, going by shape
// and strides, lie within `bytes`, and that their number does not overflow.
struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, at any alignment
  // In elements, one per dimension; empty if the elements are contiguous and row-major.
  std::vector<int64_t> strides = {};
  std::optional<uint32_t> crc32c = std::nullopt;  // of bytes, if the file stores one

  int64_t elements() const;
  int64_t size() const { return elements() * dtype_size(dtype); }  // bytes, without gaps
  double at(int64_t i) const;                                      // i: row-major index
  void copy_to(float* values) const;  // every element, as float32; values: [elements()]
  std::string row_major() const;      // a copy, size() bytes
};

}  // namespace bert::models
