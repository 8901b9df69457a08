// SPDX-License-Identifier: Apache-2.0
#include "models/weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tokenizer/files/files.h"

namespace bert::models {
namespace {

using nlohmann::json;

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
  const std::optional<DType> dtype = dtype_named(dtype_text);
  if (!dtype) fail(path, fmt::format("{}: dtype '{}' is not supported", what, dtype_text));

  StoredTensor tensor{name, *dtype, {}, {}};
  if (!entry["shape"].is_array()) fail(path, what + ": 'shape' is not an array");
  int64_t size = dtype_size(*dtype);
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

WeightFile read_safetensors(const std::string& path) {
  std::vector<engine::MappedFile> maps;
  maps.emplace_back(path);
  const std::span<const std::byte> bytes = maps.front().bytes();
  if (bytes.size() < 8) {
    fail(path, fmt::format("{} bytes are too few for a safetensors file", bytes.size()));
  }
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - 8) {
    fail(path,
         fmt::format("the header's length is {} bytes, but the file has only {} (is it a complete "
                     "safetensors file?)",
                     length, bytes.size() - 8));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  const std::span<const std::byte> data = bytes.subspan(8 + length);
  const json header = tokenizer::parse_json_text(text, path + ": the header");
  if (!header.is_object()) fail(path, "the header is not a JSON object");

  std::vector<StoredTensor> tensors;
  WeightFile::Metadata metadata;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors.push_back(read_entry(name, entry, path, data));
      continue;
    }
    if (!entry.is_object()) fail(path, "'__metadata__' is not a JSON object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail(path, fmt::format("'__metadata__': '{}' is not a string", key));
      metadata[key] = value.get<std::string>();
    }
  }
  std::vector<const StoredTensor*> pointers;
  pointers.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) pointers.push_back(&tensor);
  check_layout(std::move(pointers), path, data);
  return {path, std::move(maps), std::move(tensors), std::move(metadata)};
}

}  // namespace bert::models
