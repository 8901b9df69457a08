// SPDX-License-Identifier: Apache-2.0
#include "models/weights/checkpoint.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bert::models {
namespace {

// Buffers that some versions of transformers store: the integers from 0 up, and zeros.
constexpr std::string_view kBuffers[] = {"embeddings.position_ids", "embeddings.token_type_ids"};

// The names of the encoder's tensors begin with one of these after the prefix.
constexpr const char* kEncoderParts[] = {"embeddings",   "emb_ln",        "encoder.",
                                         "layers.",      "decoder.layer", "decoder.embed_",
                                         "transformer.", "pooler",        "final_norm"};

// "a.LayerNorm.weight" as TensorFlow's checkpoints spell it; "" if the spelling is the same.
std::string old_spelling(std::string_view name) {
  for (const auto& [now, before] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                    std::pair{"LayerNorm.bias", "LayerNorm.beta"}}) {
    const std::string_view ending = now;
    if (name.ends_with(ending)) {
      return std::string(name.substr(0, name.size() - ending.size())) + before;
    }
  }
  return "";
}

std::string describe(const WeightFile& file, const StoredTensor& tensor) {
  return fmt::format("{}: tensor '{}'", file.path(), tensor.name);
}

void copy_floats(WeightTable& table) {
  const engine::Tensor floats = table.copy.tensor(table.view.rows, table.view.columns);
  table.stored->copy_to(floats.data);
  table.view = engine::ConstTensor(floats);
  Checkpoint::release(table);
}

}  // namespace

std::string WeightOrigin::description() const { return describe(*file, *stored); }

Checkpoint::Checkpoint(Weights weights, const std::vector<std::string>& prefixes,
                       const std::vector<std::string>& words)
    : path_(std::move(weights.path)),
      files_(std::move(weights.files)),
      notes_(std::move(weights.notes)),
      added_(std::move(weights.added)) {
  const auto stored = [&](const std::string& full) {
    return std::any_of(files_.begin(), files_.end(),
                       [&](const WeightFile& file) { return file.find(full); });
  };
  for (const std::string& name : words) {
    words_ = name;
    const auto prefix = std::ranges::find_if(
        prefixes, [&](const std::string& each) { return stored(each + name); });
    const bool prefixed = prefix != prefixes.end(), plain = stored(name);
    if (prefixed) prefix_ = *prefix;
    if (prefixed != plain) return;
    if (!plain) continue;
    fail(path_, fmt::format("expected either '{}' or '{}{}', found both", name, prefix_, name));
  }
  fail(path_, fmt::format("expected either '{0}' or '{1}{0}', found neither", words.front(),
                          prefixes.front()));
}

Checkpoint::Entry Checkpoint::find(std::string_view name) const {
  for (const std::string& candidate : {std::string(name), old_spelling(name)}) {
    for (const std::string& full : {fmt::format("{}{}", prefix_, candidate), candidate}) {
      for (const WeightFile& file : files_) {
        if (const StoredTensor* tensor = candidate.empty() ? nullptr : file.find(full)) {
          return {&file, tensor};
        }
      }
    }
  }
  return {nullptr, nullptr};
}

std::vector<std::string> Checkpoint::paths() const {
  std::vector<std::string> paths;
  for (const WeightFile& file : files_) paths.push_back(file.path());
  paths.insert(paths.end(), added_.begin(), added_.end());
  return paths;
}

std::vector<const StoredTensor*> Checkpoint::tensors() const {
  std::vector<const StoredTensor*> all;
  for (const WeightFile& file : files_) {
    for (const StoredTensor& tensor : file.tensors()) all.push_back(&tensor);
  }
  return all;
}

const StoredTensor& Checkpoint::stored(std::string_view name) const {
  assert(has(name));
  return *find(name).second;
}

int64_t Checkpoint::first_dimension(const std::string& name) const {
  const StoredTensor* tensor = find(name).second;
  return tensor && !tensor->shape.empty() ? std::max<int64_t>(1, tensor->shape.front()) : 1;
}

bool Checkpoint::has(std::string_view name) const { return find(name).second != nullptr; }

Checkpoint::Entry Checkpoint::take(const std::string& name, const std::vector<int64_t>& shape,
                                   std::optional<DType> dtype) {
  const Entry entry = find(name);
  const auto& [file, tensor] = entry;
  if (!tensor) {
    const bool of_encoder = std::ranges::any_of(
        kEncoderParts, [&](const char* begin) { return name.starts_with(begin); });
    fail(path_, fmt::format("tensor '{}{}' is missing", of_encoder ? prefix_ : "", name));
  }
  if (tensor->shape != shape) {
    fail(file->path(), fmt::format("tensor '{}' has shape [{}], expected [{}]", tensor->name,
                                   fmt::join(tensor->shape, ", "), fmt::join(shape, ", ")));
  }
  if (dtype ? tensor->dtype != *dtype : !is_float(tensor->dtype)) {
    fail(file->path(),
         fmt::format("tensor '{}' is {}, expected {}", tensor->name, dtype_name(tensor->dtype),
                     dtype ? dtype_name(*dtype) : "F32, F16 or BF16"));
  }
  taken_.insert(tensor->name);
  check(entry);
  return entry;
}

// Tied tensors may share their bytes.
void Checkpoint::check(const Entry& entry) {
  const auto& [file, tensor] = entry;
  const auto& sum = tensor->checksum;
  if (sum && checked_.insert(sum->bytes.data()).second) file->check(*tensor);
}

WeightTable Checkpoint::table(const std::string& name, int64_t rows, int64_t columns) {
  return as_table(take(name, {rows, columns}), rows, columns);
}

WeightTable Checkpoint::stacked(const std::string& name, int64_t count, int64_t rows,
                                int64_t columns) {
  return as_table(take(name, {count, rows, columns}), count * rows, columns);
}

WeightTable Checkpoint::as_table(const Entry& entry, int64_t rows, int64_t columns) {
  const auto [file, tensor] = entry;
  const std::byte* const data = tensor->bytes.data();
  const engine::FloatType type = *float_type(tensor->dtype);
  WeightTable table{{file, tensor}, {data, type, rows, columns}, {}};
  const bool aligned =
      type != engine::FloatType::f32 || reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;
  if (!aligned || !tensor->strides.empty() || tensor->addition) {
    copy_floats(table);
    if (tensor->addition) engine::require_finite(table.view.floats(), table.description());
  } else if (tensor->checksum) {
    release(table);  // it was read as a whole to be checked
  }
  return table;
}

Weight Checkpoint::matrix(const std::string& name, int64_t rows, int64_t columns) {
  WeightTable stored = table(name, rows, columns);
  if (stored.view.type != engine::FloatType::f32) copy_floats(stored);
  return {stored, stored.view.floats(), std::move(stored.copy)};
}

Weight Checkpoint::finite_matrix(const std::string& name, int64_t rows, int64_t columns) {
  Weight weight = matrix(name, rows, columns);
  engine::require_finite(weight.view, weight.description());
  return weight;
}

engine::Buffer Checkpoint::vector(const std::string& name, int64_t size) {
  return values(name, {size});
}

engine::Buffer Checkpoint::values(const std::string& name, const std::vector<int64_t>& shape) {
  const Entry entry = take(name, shape);
  const int64_t size = entry.second->elements();
  engine::Buffer copy(size);
  entry.second->copy_to(copy.data());
  engine::require_finite({copy.data(), size / shape.back(), shape.back()},
                         describe(*entry.first, *entry.second));
  return copy;
}

void Checkpoint::expect_equal(const WeightTable& stored, const WeightTable& tied,
                              const char* reason) const {
  const int64_t columns = stored.view.columns;
  engine::Buffer room(columns), tied_room(columns);
  for (int64_t i = 0; i < stored.view.rows; ++i) {
    const float* const row = stored.view.row(i, room.data());
    if (std::equal(row, row + columns, tied.view.row(i, tied_room.data()))) continue;
    fail(stored.file->path(), fmt::format("tensor '{}' differs from '{}', but {}",
                                          stored.stored->name, tied.stored->name, reason));
  }
  for (const WeightTable* each : {&stored, &tied}) release(*each);  // they were read as a whole
}

bool Checkpoint::is_int8(const std::string& name) const { return has(name + ".weight_scale"); }

bool Checkpoint::is_bf16(const std::string& name) const {
  const StoredTensor* tensor = find(name + ".weight").second;
  return tensor && tensor->dtype == DType::bf16;
}

std::vector<int32_t> Checkpoint::exact_inputs(const std::string& name, int64_t width) {
  const StoredTensor* found = find(name).second;
  if (!found) return {};
  const auto [file, tensor] = take(name, {found->elements()}, DType::i32);
  std::vector<int32_t> inputs;
  std::vector<bool> seen(static_cast<size_t>(width));
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    const double input = tensor->at(i);
    if (input < 0 || input >= static_cast<double>(width) || seen[static_cast<size_t>(input)]) {
      fail(file->path(),
           fmt::format("tensor '{}'[{}] is {}, expected distinct input numbers below {}",
                       tensor->name, i, input, width));
    }
    inputs.push_back(static_cast<int32_t>(input));
    seen[static_cast<size_t>(input)] = true;
  }
  return inputs;
}

engine::Linear::Stored Checkpoint::int8(const std::vector<std::string>& names,
                                        const std::vector<int64_t>& columns, int64_t width) {
  engine::Linear::Stored all;
  const auto append = [](std::vector<float>& to, const Entry& entry) {
    const StoredTensor& tensor = *entry.second;
    const size_t before = to.size();
    to.resize(before + static_cast<size_t>(tensor.elements()));
    tensor.copy_to(to.data() + before);
    const int64_t rows = tensor.shape[0];
    engine::require_finite({to.data() + before, rows, tensor.elements() / rows},
                           describe(*entry.first, tensor));
  };
  all.exact = exact_inputs(names.front() + ".exact_inputs", width);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto [file, weight] = take(name + ".weight", {columns[i], width}, DType::i8);
    const std::string q = weight->row_major();
    all.q.insert(all.q.end(), q.begin(), q.end());
    file->release(*weight);
    append(all.scales, take(name + ".weight_scale", {columns[i]}, DType::f32));
    append(all.bias, take(name + ".bias", {columns[i]}, DType::f32));
    if (exact_inputs(name + ".exact_inputs", width) != all.exact) {
      fail(file->path(), fmt::format("tensor '{}.exact_inputs' differs from '{}.exact_inputs'",
                                     name, names.front()));
    }
    if (all.exact.empty()) continue;
    append(all.exact_weights,
           take(name + ".exact_weight", {columns[i], std::ssize(all.exact)}, DType::f32));
  }
  return all;
}

int Checkpoint::finish(const std::vector<std::string>& not_evaluated) {
  int known = 0;
  std::vector<std::string> unexpected;
  std::string path;  // of the first one's file
  for (const WeightFile& file : files_) {
    for (const StoredTensor& tensor : file.tensors()) {
      if (taken_.contains(tensor.name)) continue;
      check({&file, &tensor});
      std::string_view name = tensor.name;
      if (name.starts_with(prefix_)) name.remove_prefix(prefix_.size());
      if (std::count(std::begin(kBuffers), std::end(kBuffers), name)) continue;
      if (std::any_of(not_evaluated.begin(), not_evaluated.end(),
                      [&](const std::string& start) { return name.starts_with(start); })) {
        ++known;
      } else {
        if (unexpected.empty()) path = file.path();
        unexpected.push_back(tensor.name);
      }
    }
  }
  if (!unexpected.empty()) {
    fail(
        path,
        fmt::format(
            "unexpected tensor '{}'{} for config.json's architecture and sizes", unexpected.front(),
            unexpected.size() > 1 ? fmt::format(" (and {} more)", unexpected.size() - 1) : ""));
  }
  return known;
}

void Checkpoint::release(const WeightOrigin& weight) { weight.file->release(*weight.stored); }

}  // namespace bert::models
