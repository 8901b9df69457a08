// SPDX-License-Identifier: Apache-2.0
#include "models/weights/pytorch/pytorch_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/pytorch/pickle.h"
#include "models/weights/pytorch/zip_file.h"

namespace bert::models {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

struct Storage {
  DType dtype = DType::f32;
  int64_t elements = 0;
  Bytes bytes;
  std::optional<Checksum> checksum = std::nullopt;
};
using Storages = std::map<std::string, Storage, std::less<>>;  // by key

// The storages that the pickle names, without their bytes yet.
Storages named_storages(const Pickle& pickle, const std::string& path) {
  Storages storages;
  for (const PickleValue* value : pickle.storages()) {
    const std::string key(value->items[2]->text);
    const auto* type =  // Pickle allows no others
        std::ranges::find(kStorageTypes, value->items[1]->text, &StorageType::name);
    const Storage named{.dtype = type->dtype, .elements = value->items[4]->integer, .bytes = {}};
    int64_t size;
    if (named.elements < 0 ||
        __builtin_mul_overflow(named.elements, dtype_size(named.dtype), &size)) {
      fail(path,
           fmt::format("storage '{}' has an invalid size of {} elements", key, named.elements));
    }
    const Storage& known = storages.emplace(key, named).first->second;
    if (known.dtype != named.dtype || known.elements != named.elements) {
      fail(path, fmt::format("storage '{}' is declared both as {} elements of {} and as {} of {}",
                             key, known.elements, dtype_name(known.dtype), named.elements,
                             dtype_name(named.dtype)));
    }
  }
  return storages;
}

std::vector<int64_t> read_integers(const PickleValue& tuple, const std::string& what) {
  // PyTorch's limit. Without one, many tensors that share a tuple would take much memory.
  constexpr size_t kMaxDimensions = 64;
  if (tuple.items.size() > kMaxDimensions) {
    throw std::runtime_error(fmt::format("{} has {} dimensions, expected at most {}", what,
                                         tuple.items.size(), kMaxDimensions));
  }
  std::vector<int64_t> integers;
  for (const PickleValue* item : tuple.items) {
    if (item->kind != Kind::integer || item->integer < 0) {
      throw std::runtime_error(what + " has a shape or strides that are not non-negative integers");
    }
    integers.push_back(item->integer);
  }
  return integers;
}

// Whether the elements are contiguous and row-major; strides of dimensions of size 1 don't matter.
bool is_row_major(const StoredTensor& tensor) {
  int64_t expected = 1;
  for (size_t d = tensor.shape.size(); d-- > 0; expected *= tensor.shape[d]) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected) return false;
  }
  return true;
}

// The index in the storage one past the last element, or nothing if it overflows.
std::optional<int64_t> end_of(const StoredTensor& tensor, int64_t offset) {
  int64_t last = offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t step;
    if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  return __builtin_add_overflow(last, 1, &last) ? std::nullopt : std::optional(last);
}

// Whether no two elements overlap: with the dimensions sorted by stride, each stride must be larger
// than the span of all smaller dimensions together.
bool is_disjoint(const StoredTensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > 1) steps.emplace_back(tensor.strides[d], tensor.shape[d]);
  }
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

StoredTensor read_tensor(const std::string& name, const PickleValue& value,
                         const Storages& storages, const std::string& path) {
  const std::string what = fmt::format("{}: tensor '{}'", path, name);
  const auto& items = value.items;
  const bool is_plain = items[0]->kind == Kind::storage && items[1]->kind == Kind::integer &&
                        items[2]->kind == Kind::tuple && items[3]->kind == Kind::tuple &&
                        items[2]->items.size() == items[3]->items.size();
  const bool has_metadata = items.size() == 7 && (items[6]->kind != Kind::none) &&
                            (items[6]->kind != Kind::dict || !items[6]->items.empty());
  if (!is_plain || has_metadata) {
    throw std::runtime_error(what +
                             " is not described by a storage, an offset, a shape and strides");
  }
  const Storage& storage = storages.find(items[0]->items[2]->text)->second;
  StoredTensor tensor{.name = name,
                      .dtype = storage.dtype,
                      .shape = read_integers(*items[2], what),
                      .bytes = {},
                      .strides = read_integers(*items[3], what),
                      .checksum = storage.checksum};
  const int64_t offset = items[1]->integer, size = dtype_size(tensor.dtype);
  int64_t elements = 1;
  bool fits = offset >= 0 && offset <= storage.elements;
  for (const int64_t dimension : tensor.shape) {
    fits = fits && !__builtin_mul_overflow(elements, dimension, &elements);
  }
  const std::optional<int64_t> end =
      fits && elements == 0 ? std::optional(offset) : end_of(tensor, offset);
  if (!fits || !end || *end > storage.elements || elements > storage.elements) {
    throw std::runtime_error(fmt::format(
        "{}: shape [{}] with strides [{}] at offset {} exceeds its storage of {} elements", what,
        fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "), offset, storage.elements));
  }
  if (elements > 0 && !is_disjoint(tensor)) {
    throw std::runtime_error(
        fmt::format("{}: shape [{}] with strides [{}] has overlapping elements", what,
                    fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", ")));
  }
  tensor.bytes = storage.bytes.subspan(offset * size, (*end - offset) * size);
  if (elements == 0 || is_row_major(tensor)) tensor.strides.clear();
  return tensor;
}

std::vector<StoredTensor> read_tensors(const PickleValue& root, const Storages& storages,
                                       const std::string& path) {
  if (root.kind != Kind::dict) fail(path, "the pickle is not a dict of tensors by name");
  std::vector<StoredTensor> tensors;
  std::set<std::string_view> names;  // a pickle of a few bytes for each may repeat one endlessly
  for (size_t i = 0; i < root.items.size(); i += 2) {
    if (root.items[i]->kind != Kind::text) fail(path, "a key of the pickle's dict is not a string");
    const std::string name(root.items[i]->text);
    if (!names.insert(root.items[i]->text).second) {
      fail(path, fmt::format("duplicate tensor '{}'", name));
    }
    // DeBERTa's authors stored the model's settings beside its tensors.
    if (name == "config" && root.items[i + 1]->kind == Kind::dict) continue;
    if (root.items[i + 1]->kind != Kind::tensor) {
      fail(path, fmt::format("'{}' is not a tensor", name));
    }
    tensors.push_back(read_tensor(name, *root.items[i + 1], storages, path));
  }
  return tensors;
}

// NAME/data.pkl, NAME/data/KEY for each storage, and NAME/byteorder since torch 2.1. Storages'
// checksums are left to whoever reads the tensors.
std::vector<StoredTensor> read_archive(Bytes bytes, const std::string& path) {
  const auto files = read_zip(bytes, path);
  std::string start;
  for (const auto& [name, file] : files) {
    if (name.ends_with("/data.pkl") && name.find('/') == name.size() - 9) {
      if (!start.empty()) fail(path, "the archive has more than one data.pkl");
      start = name.substr(0, name.size() - 8);
    }
  }
  if (start.empty()) fail(path, "the archive has no data.pkl: torch.save did not write it");
  const std::string data = start + "data/";
  const auto check = [&](const ZipMember& file) {
    if (file.checksum) check_sum(*file.checksum, path);
  };
  for (const auto& [name, file] : files) {
    if (!name.starts_with(data)) check(file);
  }
  if (const auto order = files.find(start + "byteorder"); order != files.end()) {
    const Bytes content = order->second.bytes;
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    if (text != "little") fail(path, "the byte order is not little-endian");
  }
  const Pickle pickle(files.at(start + "data.pkl").bytes, path);
  Storages storages = named_storages(pickle, path);
  for (auto& [key, storage] : storages) {
    const auto file = files.find(data + key);
    if (file == files.end()) fail(path, fmt::format("the archive has no storage '{}'", key));
    storage.bytes = file->second.bytes;
    storage.checksum = file->second.checksum;
    if (std::ssize(storage.bytes) != storage.elements * dtype_size(storage.dtype)) {
      fail(path, fmt::format("storage '{}' has {} bytes, expected {} elements of {}", key,
                             storage.bytes.size(), storage.elements, dtype_name(storage.dtype)));
    }
  }
  for (const auto& [name, file] : files) {  // storages of no tensor
    if (name.starts_with(data) && !storages.contains(name.substr(data.size()))) check(file);
  }
  return read_tensors(pickle.root(), storages, path);
}

// 0x1950a86a20f9469cfc6c, little-endian.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kLegacyProtocol = 1001;

// keys: the storages', in the order of `rest`, which has each one's size and bytes.
void read_storages(const Pickle& keys, Bytes rest, Storages& storages, const std::string& path) {
  if (keys.root().kind != Kind::list) fail(path, "the storages' keys are not a list");
  for (const PickleValue* key : keys.root().items) {
    const auto found = key->kind == Kind::text ? storages.find(key->text) : storages.end();
    if (found == storages.end() || found->second.bytes.data()) {
      fail(path, "the storages' keys don't match those of the tensors");
    }
    Storage& storage = found->second;
    int64_t elements = 0;
    const int64_t size = storage.elements * dtype_size(storage.dtype);
    if (rest.size() >= sizeof elements) std::memcpy(&elements, rest.data(), sizeof elements);
    if (rest.size() < sizeof elements || elements != storage.elements ||
        std::ssize(rest) - 8 < size) {
      fail(path,
           fmt::format("storage '{}' is incomplete: {} bytes are left for {} elements of {}",
                       found->first, rest.size(), storage.elements, dtype_name(storage.dtype)));
    }
    storage.bytes = rest.subspan(8, size);
    rest = rest.subspan(8 + size);
  }
  for (const auto& [key, storage] : storages) {
    if (!storage.bytes.data()) fail(path, fmt::format("storage '{}' is missing", key));
  }
  if (!rest.empty()) fail(path, fmt::format("{} bytes follow the last storage", rest.size()));
}

// Five pickles (the magic number, the version, a dict of system properties, the tensors, the
// storages' keys), then the storages.
std::vector<StoredTensor> read_legacy(Bytes bytes, const std::string& path) {
  Bytes rest = bytes;
  const auto next = [&] {
    Pickle pickle(rest, path);
    rest = rest.subspan(pickle.size());
    return pickle;
  };
  const Pickle magic = next();
  if (magic.root().kind != Kind::other || magic.root().text != kLegacyMagic) {
    fail(path, "the first pickle is not the magic number of torch's legacy format");
  }
  const Pickle version = next();
  if (version.root().kind != Kind::integer || version.root().integer != kLegacyProtocol) {
    fail(path, fmt::format("the version of torch's format is not {}", kLegacyProtocol));
  }
  const Pickle system = next();
  const auto& properties = system.root().items;
  for (size_t i = 0; i + 1 < properties.size() && system.root().kind == Kind::dict; i += 2) {
    if (properties[i]->is("little_endian") && properties[i + 1]->integer != 1) {
      fail(path, "the byte order is not little-endian");
    }
  }
  const Pickle pickle = next();
  Storages storages = named_storages(pickle, path);
  const Pickle keys = next();
  read_storages(keys, rest, storages, path);
  return read_tensors(pickle.root(), storages, path);
}

}  // namespace

WeightFile read_pytorch(const std::string& path) {
  std::vector<engine::MappedFile> maps;
  maps.push_back(map_weights(path));
  const Bytes bytes = maps.front().bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK\3\4")) return {path, std::move(maps), read_archive(bytes, path)};
  if (text.starts_with('\x80')) return {path, std::move(maps), read_legacy(bytes, path)};
  fail(path, fmt::format("{} bytes that are neither a zip archive nor in torch's legacy format",
                         bytes.size()));
}

}  // namespace bert::models
