// SPDX-License-Identifier: Apache-2.0
#include "models/weights/tensorflow/tensorflow_checkpoint.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/tensorflow/crc32c.h"
#include "models/weights/tensorflow/sorted_table.h"
#include "tokenizer/sentencepiece/wire_reader.h"

namespace bert::models {
namespace {

using tokenizer::WireReader;

// Parts of the names of variables that belong to the optimizer or the training loop.
constexpr std::string_view kTrainingParts[] = {"adam_m", "adam_v", "AdamWeightDecayOptimizer",
                                               "AdamWeightDecayOptimizer_1", "global_step"};

// BundleEntryProto.
struct Entry {
  std::string key;
  uint64_t type = 0;
  std::vector<int64_t> shape;
  int64_t shard = 0, offset = 0, size = 0;
  uint32_t checksum = 0;
  bool sliced = false, unknown_rank = false;
};

// TensorFlow's types.proto.
std::optional<DType> dtype_of(uint64_t type) {
  constexpr std::pair<uint64_t, DType> kTypes[] = {
      {1, DType::f32}, {2, DType::f64}, {3, DType::i32},      {4, DType::u8},    {5, DType::i16},
      {6, DType::i8},  {9, DType::i64}, {10, DType::boolean}, {14, DType::bf16}, {19, DType::f16}};
  for (const auto& [number, dtype] : kTypes) {
    if (number == type) return dtype;
  }
  return std::nullopt;
}

std::vector<std::string> split(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    c == '/' ? void(parts.emplace_back()) : parts.back().push_back(c);
  }
  return parts;
}

// "layer.11" for "layer_11"; other names unchanged.
std::string numbered(const std::string& part) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t underscore = part.find('_');
  const bool is_numbered = underscore != std::string::npos && underscore > 0 &&
                           underscore + 1 < part.size() &&
                           part.find_first_not_of(kDigits, underscore + 1) == std::string::npos &&
                           part.find_first_of(kDigits) > underscore;
  return is_numbered ? part.substr(0, underscore) + "." + part.substr(underscore + 1) : part;
}

std::string hugging_face_name(const std::vector<std::string>& parts) {
  constexpr std::pair<std::string_view, std::string_view> kLast[] = {
      {"kernel", "weight"}, {"gamma", "weight"},          {"beta", "bias"},
      {"bias", "bias"},     {"output_weights", "weight"}, {"output_bias", "bias"}};
  std::vector<std::string> names;
  names.reserve(parts.size() + 1);
  for (const std::string& part : parts) names.push_back(numbered(part));
  const auto* last =
      std::ranges::find(kLast, parts.back(), &std::pair<std::string_view, std::string_view>::first);
  if (last != std::end(kLast)) names.back() = last->second;
  if (parts.back().ends_with("_embeddings")) names.emplace_back("weight");
  if (parts.size() == 1 && parts[0].starts_with("output_"))
    names.insert(names.begin(), "classifier");
  if (parts.size() == 3 && parts[0] == "cls" && parts[1] == "squad") {  // run_squad.py
    names = {"qa_outputs", names.back()};
  }
  return fmt::format("{}", fmt::join(names, "."));
}

class BundleReader {
 public:
  explicit BundleReader(const std::string& prefix) : prefix_(prefix), path_(prefix + ".index") {}

  WeightFile read() {
    const engine::MappedFile index = map_weights(path_);
    bool header = false;
    read_sorted_table(index.bytes(), path_, [&](std::string_view key, std::string_view value) {
      if (!header) {  // its key is empty, so it comes first
        if (!key.empty()) fail(path_, "the header, under an empty key, is missing");
        read_header(value);
        header = true;
      } else if (const auto parts = split(key); wanted(parts)) {
        add(read_entry(key, value), parts);
      }
    });
    if (!header) fail(path_, "the index is empty");
    return {path_, std::move(shards_), std::move(tensors_)};
  }

 private:
  static bool wanted(const std::vector<std::string>& parts) {
    return std::ranges::none_of(parts, [](const std::string& part) {
      return std::ranges::count(kTrainingParts, part) > 0;
    });
  }

  void read_header(std::string_view message) {
    const std::string where = path_ + ": the header";
    uint64_t shards = 0, big_endian = 0;
    for (WireReader reader(message, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number == 1) shards = field.value;
      if (field.number == 2) big_endian = field.value;
    }
    if (big_endian != 0) fail(path_, "the byte order is not little-endian");
    if (shards == 0 || shards > 99999) {
      fail(path_, fmt::format("the header gives {} data files, expected 1 to 99999", shards));
    }
    for (uint64_t i = 0; i < shards; ++i) {
      shards_.push_back(map_weights(fmt::format("{}.data-{:05}-of-{:05}", prefix_, i, shards)));
      taken_.push_back(0);
    }
  }

  void read_shape(std::string_view message, const std::string& where, Entry& entry) {
    for (WireReader reader(message, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number == 3) entry.unknown_rank = field.value != 0;
      if (field.number != 2) continue;
      entry.shape.push_back(0);
      for (WireReader dimension(field.bytes, where); !dimension.empty();) {
        const WireReader::Field size = dimension.field();
        if (size.number == 1) entry.shape.back() = static_cast<int64_t>(size.value);
      }
    }
  }

  Entry read_entry(std::string_view key, std::string_view message) {
    Entry entry{.key = std::string(key), .shape = {}};
    const std::string where = fmt::format("{}: the entry of '{}'", path_, key);
    for (WireReader reader(message, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      const auto value = static_cast<int64_t>(field.value);
      if (field.number == 1) entry.type = field.value;
      if (field.number == 2) read_shape(field.bytes, where, entry);
      if (field.number == 3) entry.shard = value;
      if (field.number == 4) entry.offset = value;
      if (field.number == 5) entry.size = value;
      if (field.number == 6) entry.checksum = static_cast<uint32_t>(field.value);
      if (field.number == 7) entry.sliced = true;
    }
    return entry;
  }

  void add(const Entry& entry, const std::vector<std::string>& parts) {
    const std::string what = fmt::format("tensor '{}'", entry.key);
    if (entry.key == "_CHECKPOINTABLE_OBJECT_GRAPH") {
      fail(path_, "found an object-based checkpoint of TensorFlow 2, expected a name-based one");
    }
    const std::optional<DType> dtype = dtype_of(entry.type);
    if (!dtype) fail(path_, fmt::format("{}: unsupported type {}", what, entry.type));
    if (entry.sliced || entry.unknown_rank) {
      fail(path_, what + " is stored in slices, which is not supported");
    }
    int64_t size = dtype_size(*dtype);
    for (const int64_t dimension : entry.shape) {
      if (dimension < 0 || __builtin_mul_overflow(size, dimension, &size)) size = -1;
      if (size < 0) break;
    }
    if (size < 0 || size != entry.size) {
      fail(path_, fmt::format("{} has {} bytes, which is wrong for {} of shape [{}]", what,
                              entry.size, dtype_name(*dtype), fmt::join(entry.shape, ", ")));
    }
    if (entry.shard < 0 || entry.shard >= std::ssize(shards_)) {
      fail(path_, fmt::format("{} is in data file {}, expected a number below {}", what,
                              entry.shard, shards_.size()));
    }
    const engine::MappedFile& shard = shards_[entry.shard];
    const int64_t file_size = std::ssize(shard.bytes());
    if (entry.offset < 0 || entry.offset > file_size || size > file_size - entry.offset) {
      fail(shard.path(), fmt::format("{} has {} bytes at {}, but the file has only {} (is it "
                                     "complete?)",
                                     what, size, entry.offset, file_size));
    }
    int64_t& taken = taken_[static_cast<size_t>(entry.shard)];
    if (taken += size; taken > file_size) fail(shard.path(), "its tensors overlap");
    StoredTensor tensor{.name = hugging_face_name(parts),
                        .dtype = *dtype,
                        .shape = entry.shape,
                        .bytes = shard.bytes().subspan(entry.offset, size)};
    tensor.checksum = {crc32c, unmasked_crc32c(entry.checksum), tensor.bytes,
                       fmt::format("tensor '{}'", tensor.name)};
    if (parts.back() == "kernel" && tensor.shape.size() == 2) {
      std::swap(tensor.shape[0], tensor.shape[1]);
      tensor.strides = {1, tensor.shape[0]};
    }
    tensors_.push_back(std::move(tensor));
  }

  const std::string& prefix_;
  const std::string path_;
  std::vector<engine::MappedFile> shards_;
  std::vector<int64_t> taken_;  // by shard: bytes of the tensors
  std::vector<StoredTensor> tensors_;
};

}  // namespace

WeightFile read_tensorflow(const std::string& prefix) { return BundleReader(prefix).read(); }

}  // namespace bert::models
