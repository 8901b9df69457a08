// SPDX-License-Identifier: Apache-2.0
#include "models/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bert::models {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

struct DTypeRow {
  std::string_view name;
  DType dtype;
  int64_t size;
};
constexpr DTypeRow kDTypes[] = {
    {"F64", DType::f64, 8},      {"F32", DType::f32, 4}, {"F16", DType::f16, 2},
    {"BF16", DType::bf16, 2},    {"I64", DType::i64, 8}, {"I32", DType::i32, 4},
    {"I16", DType::i16, 2},      {"I8", DType::i8, 1},   {"U8", DType::u8, 1},
    {"BOOL", DType::boolean, 1},
};

const DTypeRow& row_of(DType dtype) {
  return *std::find_if(std::begin(kDTypes), std::end(kDTypes),
                       [&](const DTypeRow& row) { return row.dtype == dtype; });
}

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 0) {  // zero and subnormals: the fraction counts units of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;  // 112: the biases' difference
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float bfloat_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

int64_t read_count(const json& value, const std::string& path, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{INT64_MAX}) {
    fail(path, fmt::format("{} is {}, expected a whole number of at least 0", what, value.dump()));
  }
  return value.get<int64_t>();
}

// One header entry: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
StoredTensor read_entry(const std::string& name, const json& entry, const std::string& path,
                        std::span<const std::byte> data) {
  const std::string what = fmt::format("tensor '{}'", name);
  if (!entry.is_object()) fail(path, what + " is not described by a JSON object");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) fail(path, fmt::format("{} has no '{}'", what, key));
  }
  if (entry.size() != 3) fail(path, what + " has fields other than dtype, shape and data_offsets");
  if (!entry["dtype"].is_string()) fail(path, what + ": 'dtype' is not a string");
  const auto dtype_text = entry["dtype"].get<std::string>();
  const auto dtype = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                  [&](const DTypeRow& row) { return row.name == dtype_text; });
  if (dtype == std::end(kDTypes)) {
    fail(path, fmt::format("{}: dtype '{}' is not supported", what, dtype_text));
  }

  StoredTensor tensor{name, dtype->dtype, {}, {}};
  if (!entry["shape"].is_array()) fail(path, what + ": 'shape' is not an array");
  int64_t size = dtype->size;
  for (const json& dimension : entry["shape"]) {
    tensor.shape.push_back(read_count(dimension, path, what + ": a dimension"));
    if (__builtin_mul_overflow(size, tensor.shape.back(), &size)) {
      fail(path, fmt::format("{}: shape {} overflows", what, entry["shape"].dump()));
    }
  }
  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    fail(path, what + ": 'data_offsets' is not an array of two");
  }
  const int64_t begin = read_count(offsets[0], path, what + ": data_offsets[0]");
  const int64_t end = read_count(offsets[1], path, what + ": data_offsets[1]");
  if (begin > end || end > static_cast<int64_t>(data.size())) {
    fail(path,
         fmt::format("{}: data_offsets [{}, {}] are outside the file's {} bytes of data (is the "
                     "file complete?)",
                     what, begin, end, data.size()));
  }
  if (end - begin != size) {
    fail(path, fmt::format("{}: {} of shape {} takes {} bytes, data_offsets give {}", what,
                           dtype_text, entry["shape"].dump(), size, end - begin));
  }
  tensor.bytes = data.subspan(begin, size);
  return tensor;
}

// End to end from the first byte of data to the last, so that nothing overlaps and nothing is
// hidden.
void check_layout(std::vector<const StoredTensor*> tensors, const std::string& path,
                  std::span<const std::byte> data) {
  std::sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) <
           std::pair(b->bytes.data(), b->bytes.size());
  });
  const std::byte* expected = data.data();
  for (const StoredTensor* tensor : tensors) {
    if (tensor->bytes.data() != expected) {
      fail(path,
           fmt::format("tensor '{}' begins at byte {} of the data, expected {}: tensors overlap "
                       "or leave a gap",
                       tensor->name, tensor->bytes.data() - data.data(), expected - data.data()));
    }
    expected += tensor->bytes.size();
  }
  if (expected != data.data() + data.size()) {
    fail(path,
         fmt::format("{} bytes follow the last tensor", data.data() + data.size() - expected));
  }
}

}  // namespace

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

int64_t StoredTensor::elements() const {
  return static_cast<int64_t>(bytes.size()) / row_of(dtype).size;
}

double StoredTensor::at(int64_t i) const {
  const std::byte* from = bytes.data() + i * row_of(dtype).size;
  switch (dtype) {
    case DType::f64:
      return read<double>(from);
    case DType::f32:
      return read<float>(from);
    case DType::f16:
      return half_to_float(read<uint16_t>(from));
    case DType::bf16:
      return bfloat_to_float(read<uint16_t>(from));
    case DType::i64:
      return static_cast<double>(read<int64_t>(from));
    case DType::i32:
      return read<int32_t>(from);
    case DType::i16:
      return read<int16_t>(from);
    case DType::i8:
      return read<int8_t>(from);
    case DType::u8:
    case DType::boolean:
      return read<uint8_t>(from);
  }
  return 0;
}

void StoredTensor::copy_to(float* values) const {
  const int64_t count = elements();
  if (dtype == DType::f32) {
    if (count) std::memcpy(values, bytes.data(), bytes.size());
  } else if (dtype == DType::f16) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = half_to_float(read<uint16_t>(bytes.data() + 2 * i));
  } else if (dtype == DType::bf16) {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = bfloat_to_float(read<uint16_t>(bytes.data() + 2 * i));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(at(i));
  }
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < 8) {
    fail(path, fmt::format("{} bytes are too few for a safetensors file", bytes.size()));
  }
  const auto length = read<uint64_t>(bytes.data());
  if (length > bytes.size() - 8) {
    fail(path,
         fmt::format("the header's length is {} bytes, but the file has only {} (is it a complete "
                     "safetensors file?)",
                     length, bytes.size() - 8));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  const std::span<const std::byte> data = bytes.subspan(8 + length);
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) fail(path, "the header is not a JSON object");

  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_.push_back(read_entry(name, entry, path, data));
      continue;
    }
    if (!entry.is_object()) fail(path, "'__metadata__' is not a JSON object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail(path, fmt::format("'__metadata__': '{}' is not a string", key));
      metadata_[key] = value.get<std::string>();
    }
  }
  std::vector<const StoredTensor*> pointers;
  for (const StoredTensor& tensor : tensors_) pointers.push_back(&tensor);
  check_layout(std::move(pointers), path, data);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace bert::models
