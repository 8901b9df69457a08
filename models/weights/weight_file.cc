// SPDX-License-Identifier: Apache-2.0
#include "models/weights/weight_file.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/json_file.h"
#include "models/weights/pytorch/pytorch_file.h"
#include "models/weights/safetensors.h"
#include "models/weights/tensorflow/tensorflow_checkpoint.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndex = ".index";

// The index is {"metadata": …, "weight_map": {tensor: file}}. Each file must contain exactly the
// tensors that the map places there.
std::vector<WeightFile> read_shards(const std::string& directory, const std::string& name,
                                    const std::function<WeightFile(const std::string&)>& read) {
  const JsonFile index(directory + "/" + name);
  const JsonField map = index.at("weight_map");
  std::map<std::string, std::vector<std::string>> names_by_file;
  for (const auto& [tensor, file] : map.members()) {
    if (file.string().find('/') != std::string::npos) {
      file.fail("the name of a file in the same directory");
    }
    names_by_file[file.string()].push_back(tensor);
  }
  if (names_by_file.empty()) map.fail_with("found no tensors, expected at least one");
  std::vector<WeightFile> files;
  for (const auto& [file, names] : names_by_file) {
    files.push_back(read(fmt::format("{}/{}", directory, file)));
    for (const std::string& tensor : names) {
      if (!files.back().find(tensor)) {
        fail(files.back().path(),
             fmt::format("tensor '{}' is missing, but {} places it there", tensor, index.path()));
      }
    }
    if (files.back().tensors().size() != names.size()) {
      fail(files.back().path(),
           fmt::format("found {} tensors, but {} places {} there", files.back().tensors().size(),
                       index.path(), names.size()));
    }
  }
  return files;
}

// bert_model.ckpt.index if it exists, otherwise every model.ckpt*.index.
std::vector<std::string> tensorflow_indices(const std::string& directory) {
  if (is_there(directory + "/bert_model.ckpt.index")) return {"bert_model.ckpt.index"};
  std::vector<std::string> names;
  std::error_code ignored;  // a directory that cannot be listed counts as empty
  for (const auto& file : fs::directory_iterator(directory, ignored)) {
    const std::string name = file.path().filename();
    if (name.starts_with("model.ckpt") && name.ends_with(kIndex)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The files in the directory from which the weights could be read, in order of preference.
std::vector<std::string> weight_files(const std::string& directory) {
  std::vector<std::string> names;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (is_there(directory + "/" + name)) names.emplace_back(name);
  }
  const std::vector<std::string> indices = tensorflow_indices(directory);
  if (names.empty() && indices.size() > 1) {
    fail(directory,
         fmt::format("found {}, expected one TensorFlow checkpoint", fmt::join(indices, " and ")));
  }
  names.insert(names.end(), indices.begin(), indices.end());
  return names;
}

std::vector<WeightFile> read_files(const std::string& directory, const std::string& name) {
  std::vector<WeightFile> files;
  const std::string path = directory + "/" + name;
  if (name.ends_with(".index.json")) {
    return name.starts_with("model") ? read_shards(directory, name, read_safetensors)
                                     : read_shards(directory, name, read_pytorch);
  }
  if (name.ends_with(kIndex)) {
    files.push_back(read_tensorflow(path.substr(0, path.size() - kIndex.size())));
  } else {
    files.push_back(name.ends_with(".bin") ? read_pytorch(path) : read_safetensors(path));
  }
  return files;
}

}  // namespace

void fail(const std::string& path, const std::string& reason) {
  throw std::runtime_error(path + ": " + reason);
}

engine::MappedFile map_weights(const std::string& path) {
  const tokenizer::RegularFile file(path);
  engine::MappedFile map(path, file.descriptor(), file.size());
  tokenizer::refuse_pointer({reinterpret_cast<const char*>(map.bytes().data()), file.size()}, path);
  return map;
}

WeightFile::WeightFile(std::string path, std::vector<engine::MappedFile> maps,
                       std::vector<StoredTensor> tensors, Metadata metadata)
    : path_(std::move(path)), maps_(std::move(maps)), metadata_(std::move(metadata)) {
  replace_tensors(std::move(tensors));
}

void WeightFile::replace_tensors(std::vector<StoredTensor> tensors) {
  tensors_ = std::move(tensors);
  std::ranges::sort(tensors_, {}, &StoredTensor::name);
  const auto duplicate = std::ranges::adjacent_find(tensors_, {}, &StoredTensor::name);
  if (duplicate != tensors_.end()) {
    fail(path_, fmt::format("duplicate tensor '{}'", duplicate->name));
  }
  for (const StoredTensor& tensor : tensors_) {
    if (tokenizer::utf8::first_invalid(tensor.name) != std::string::npos) {
      fail(path_, "a tensor's name is not valid UTF-8");
    }
  }
}

const StoredTensor* WeightFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

void check_sum(const Checksum& sum, const std::string& path) {
  if (const uint32_t found = sum.of(sum.bytes); found != sum.expected) {
    fail(path, fmt::format("{} has checksum {:08x}, expected {:08x}: its data is damaged", sum.what,
                           found, sum.expected));
  }
}

void WeightFile::check(const StoredTensor& tensor) const {
  if (tensor.checksum) check_sum(*tensor.checksum, path_);
}

void WeightFile::release(const StoredTensor& tensor) const {
  for (const engine::MappedFile& map : maps_) {
    const std::byte *first = map.bytes().data(), *begin = tensor.bytes.data();
    if (begin >= first && begin < first + map.bytes().size()) map.release(tensor.bytes);
  }
}

Weights open_weights(const std::string& directory) {
  const std::vector<std::string> names = weight_files(directory);
  if (names.empty()) {
    fail(directory,
         "found no weights, expected model.safetensors, pytorch_model.bin, the .index.json of "
         "either, bert_model.ckpt.index or model.ckpt*.index");
  }
  Weights weights{.path = directory + "/" + names.front(),
                  .files = read_files(directory, names.front()),
                  .notes = {}};
  if (names.size() > 1) {
    weights.notes.push_back(fmt::format("{}: the weights are read from {}, not from {}", directory,
                                        names.front(),
                                        fmt::join(names.begin() + 1, names.end(), " or ")));
  }
  return weights;
}

}  // namespace bert::models
