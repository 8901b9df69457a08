// SPDX-License-Identifier: Apache-2.0
#include "models/weights/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tokenizer/files/files.h"
#include "tokenizer/files/json_field.h"

namespace bert::models {
namespace {

using tokenizer::JsonField;

// One header entry: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
StoredTensor read_entry(const std::string& name, const JsonField& entry,
                        std::span<const std::byte> data) {
  const JsonField dtype_field = entry.at("dtype"), shape = entry.at("shape"),
                  offsets = entry.at("data_offsets");
  if (entry.members().size() != 3) {
    entry.fail_with("found other fields than dtype, shape and data_offsets");
  }
  const std::optional<DType> dtype = dtype_named(dtype_field.string());
  if (!dtype) dtype_field.fail("F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL");

  StoredTensor tensor{.name = name, .dtype = *dtype, .shape = {}, .bytes = {}};
  int64_t size = dtype_size(*dtype);
  constexpr size_t kMostDimensions = 64;  // PyTorch's limit
  if (shape.size() > kMostDimensions) {
    shape.fail_with(
        fmt::format("its length is {}, expected at most {}", shape.size(), kMostDimensions));
  }
  for (const JsonField& dimension : shape.elements()) {
    tensor.shape.push_back(dimension.integer(0, INT64_MAX));
    if (__builtin_mul_overflow(size, tensor.shape.back(), &size)) {
      shape.fail_with("the number of bytes overflows");
    }
  }
  if (offsets.size() != 2) {
    offsets.fail_with(fmt::format("its length is {}, expected 2", offsets.size()));
  }
  const std::vector<JsonField> range = offsets.elements();
  const int64_t begin = range[0].integer(0, INT64_MAX), end = range[1].integer(0, INT64_MAX);
  if (begin > end || end > std::ssize(data)) {
    offsets.fail_with(
        fmt::format("[{}, {}] is outside the file's {} bytes of data (is the file complete?)",
                    begin, end, data.size()));
  }
  if (end - begin != size) {
    offsets.fail_with(fmt::format("found {} bytes, expected {} for {} of shape [{}]", end - begin,
                                  size, dtype_field.string(), fmt::join(tensor.shape, ", ")));
  }
  tensor.bytes = data.subspan(begin, size);
  return tensor;
}

// Tensors must cover the data without overlaps or gaps, so that nothing is hidden.
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

WeightFile read_safetensors(const std::string& path) {
  std::vector<engine::MappedFile> maps;
  maps.push_back(map_weights(path));
  const std::span<const std::byte> bytes = maps.front().bytes();
  if (bytes.size() < 8) {
    fail(path, fmt::format("a safetensors file has at least 8 bytes, found {}", bytes.size()));
  }
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - 8) {
    fail(path, fmt::format("the header's length is {}, but only {} bytes follow (is it a complete "
                           "safetensors file?)",
                           length, bytes.size() - 8));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  const std::span<const std::byte> data = bytes.subspan(8 + length);
  const nlohmann::json document = tokenizer::parse_json_text(text, path + ": header");

  std::vector<StoredTensor> tensors;
  WeightFile::Metadata metadata;
  for (const auto& [name, entry] : JsonField(document, path, "header").members()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.members()) metadata[key] = value.string();
    } else {
      tensors.push_back(read_entry(name, entry, data));
    }
  }
  std::vector<const StoredTensor*> pointers;
  pointers.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) pointers.push_back(&tensor);
  check_layout(std::move(pointers), path, data);
  return {path, std::move(maps), std::move(tensors), std::move(metadata)};
}

}  // namespace bert::models
