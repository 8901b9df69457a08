// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table.h"

namespace bert::models {

enum class DType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::string_view dtype_name(DType dtype);  // as safetensors spells it: "F32"
std::optional<DType> dtype_named(std::string_view name);
int64_t dtype_size(DType dtype);                           // bytes of an element
std::optional<engine::FloatType> float_type(DType dtype);  // if weights may have it
inline bool is_float(DType dtype) { return float_type(dtype).has_value(); }

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kVerifiesChecksums = false;  // otherwise no mutant would get past them
#else
constexpr bool kVerifiesChecksums = true;
#endif

// What a file says about some of its bytes.
struct Checksum {
  uint32_t (*of)(std::span<const std::byte> bytes);
  uint32_t expected;
  std::span<const std::byte> bytes;
  std::string what;  // what the bytes are, for messages
};

// What an adapter adds to a matrix (Hu et al. 2021, LoRA): left [rows, rank] times right [rank,
// columns].
struct LowRank {
  int64_t rank = 0;
  std::vector<float> left, right;
};

// A tensor in its file. Whoever fills this in must have checked that all elements, by shape and
// strides, lie within `bytes`, and that their number does not overflow.
struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // little-endian, at any alignment
  // In elements, one per dimension; empty if the elements are contiguous and row-major.
  std::vector<int64_t> strides = {};
  std::optional<Checksum> checksum = std::nullopt;  // of bytes, or more of the file, if it has one
  std::shared_ptr<const LowRank> addition = nullptr;  // to a matrix; only copy_to() adds it

  int64_t elements() const;
  int64_t size() const { return elements() * dtype_size(dtype); }  // bytes, without gaps
  double at(int64_t i) const;                                      // i: row-major index
  void copy_to(float* values) const;  // every element, as float32; values: [elements()]
  std::string row_major() const;      // a copy, size() bytes
};

}  // namespace bert::models
