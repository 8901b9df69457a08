// SPDX-License-Identifier: Apache-2.0
#include "models/directory/convert.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/kernels/pick_kernels.h"
#include "models/model_impl.h"

namespace bert::models {
namespace {

struct ConvertedTensor {
  std::string name;
  std::string_view dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <typename T>
std::string bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// By the stored name of the tensor that they replace.
using Replacements = std::map<std::string, std::vector<ConvertedTensor>>;

// Adds rows [first, first + rows) of an int8 layer as tensors whose names begin with `start`, and
// returns the bias.
ConvertedTensor add_int8(const std::string& start, const engine::Linear::Stored& stored,
                         int64_t first, int64_t rows, std::vector<ConvertedTensor>& to) {
  const auto part = [&]<typename T>(const std::vector<T>& values, int64_t per_row) {
    return bytes_of(std::span<const T>(values).subspan(first * per_row, rows * per_row));
  };
  const int64_t width = std::ssize(stored.q) / std::ssize(stored.bias);
  to.push_back({start + "weight", "I8", {rows, width}, part(stored.q, width)});
  to.push_back({start + "weight_scale", "F32", {rows}, part(stored.scales, 1)});
  if (const int64_t exact = std::ssize(stored.exact); exact > 0) {
    to.push_back({start + "exact_inputs", "I32", {exact}, bytes_of(std::span(stored.exact))});
    to.push_back({start + "exact_weight", "F32", {rows, exact}, part(stored.exact_weights, exact)});
  }
  return {start + "bias", "F32", {rows}, part(stored.bias, 1)};
}

// The checkpoint's dense layer `name`.
void add_dense(const Checkpoint& checkpoint, const std::string& name,
               const engine::Linear::Stored& stored, int64_t first, int64_t rows,
               Replacements& to) {
  const std::string weight = checkpoint.stored(name + ".weight").name;
  const std::string start = weight.substr(0, weight.size() - std::string("weight").size());
  auto& written = to[weight];
  const ConvertedTensor bias = add_int8(start, stored, first, rows, written);
  if (checkpoint.has(name + ".bias")) {
    to[checkpoint.stored(name + ".bias").name] = {bias};  // whose prefix may differ
  } else {
    written.push_back(bias);  // quantisation corrects it, so it is no longer zero
  }
}

// A product of an expert, which is part of a tensor for all experts: NAME is that tensor's, and the
// expert's number.
void add_expert(const Checkpoint& checkpoint, const std::string& name,
                const engine::Linear::Stored& stored, Replacements& to) {
  const size_t dot = name.rfind('.');
  const std::string table = checkpoint.stored(name.substr(0, dot)).name;
  auto& written = to[table];
  written.push_back(
      add_int8(table + name.substr(dot) + ".", stored, 0, std::ssize(stored.bias), written));
}

// The columns of all linears, one after the other.
engine::Linear::Stored joined(const std::vector<const engine::Linear*>& linears) {
  engine::Linear::Stored all = linears.front()->stored();
  for (size_t i = 1; i < linears.size(); ++i) {
    const auto next = linears[i]->stored();
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.q, next.q);
    append(all.scales, next.scales);
    append(all.bias, next.bias);
    append(all.exact_weights, next.exact_weights);
  }
  return all;
}

void add_bf16(const Checkpoint& checkpoint, const std::string& weight, Replacements& to) {
  const StoredTensor& tensor = checkpoint.stored(weight);
  engine::Buffer values(tensor.elements()), words((tensor.elements() + 1) / 2);
  tensor.copy_to(values.data());
  engine::best_kernels().round_bf16(values.data(), tensor.elements(),
                                    engine::as_words(words.data()));
  const auto* halves = reinterpret_cast<const uint16_t*>(words.data());
  to[tensor.name] = {{tensor.name, "BF16", tensor.shape,
                      bytes_of(std::span(halves, static_cast<size_t>(tensor.elements())))}};
}

// Tensors that an adapter adds to and that are not converted.
void add_adapted(const StoredTensor& tensor, Replacements& to) {
  engine::Buffer values(tensor.elements());
  tensor.copy_to(values.data());
  const std::span<const float> floats(values.data(), static_cast<size_t>(tensor.elements()));
  to[tensor.name] = {{tensor.name, "F32", tensor.shape, bytes_of(floats)}};
}

// The products of all layers by their tensors' names, which some layers share.
std::map<std::vector<std::string>, std::vector<const engine::Linear*>> dense_layers(
    const Encoder& encoder) {
  std::map<std::vector<std::string>, std::vector<const engine::Linear*>> all;
  for (const Layer& layer : encoder.layers) {
    for (const DenseLayer& dense : layer.dense_layers()) {
      auto& linears = all[dense.names];
      linears.insert(linears.end(), dense.linears.begin(), dense.linears.end());
    }
  }
  return all;
}

// What becomes of the tensors that have all experts' weights and biases.
void add_experts(const Encoder& encoder, const Config& config, const Checkpoint& checkpoint,
                 Replacements& to) {
  const LayerNames::ExpertNames& experts = config.family->layer.experts;
  for (const Layer& layer : encoder.layers) {
    if (!layer.experts) continue;
    if (encoder.precision != engine::Precision::int8) {
      add_bf16(checkpoint, layer.name + experts.in, to);
      add_bf16(checkpoint, layer.name + experts.out, to);
    } else if (experts.is_stacked) {  // each has its own by now
      for (const char* name : {experts.in_bias, experts.out_bias}) {
        to[checkpoint.stored(layer.name + name).name] = {};
      }
    }
  }
}

Replacements replacements(const Encoder& encoder, const Config& config,
                          const Checkpoint& checkpoint) {
  Replacements all;
  add_experts(encoder, config, checkpoint, all);
  const bool int8 = encoder.precision == engine::Precision::int8;
  for (const auto& [names, linears] : dense_layers(encoder)) {
    const bool is_expert = !checkpoint.has(names.front() + ".weight");
    const auto stored = int8 ? joined(linears) : engine::Linear::Stored();
    if (is_expert) {
      if (int8) add_expert(checkpoint, names.front(), stored, all);
      continue;
    }
    int64_t first = 0;
    for (const std::string& name : names) {
      const int64_t rows = checkpoint.stored(name + ".weight").shape[0];
      if (int8) {
        add_dense(checkpoint, name, stored, first, rows, all);
      } else {
        add_bf16(checkpoint, name + ".weight", all);
      }
      first += rows;
    }
  }
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    if (tensor->addition && !all.contains(tensor->name)) add_adapted(*tensor, all);
  }
  return all;
}

}  // namespace

void write_converted(const Model& model, const std::function<void(std::string_view)>& write) {
  const auto& impl = Internals::impl(model);
  const std::string layer =
      impl.config.layer_names.front() + impl.config.names_of(0).attention_output;
  if (impl.encoder.precision == engine::Precision::f32 || impl.checkpoint.is_int8(layer)) {
    throw Error(impl.checkpoint.path() +
                ": nothing to convert: the weights are already in the model's precision");
  }
  const bool int8 = impl.encoder.precision == engine::Precision::int8;
  if (impl.config.branch_scale != 1 && !int8) {
    throw Error(impl.checkpoint.path() +
                ": weights that are scaled as they are loaded cannot be converted to bf16 yet");
  }
  const Replacements replaced = replacements(impl.encoder, impl.config, impl.checkpoint);
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  int64_t at = 0;
  const auto declare = [&](const std::string& name, std::string_view dtype,
                           const std::vector<int64_t>& shape, int64_t size) {
    const int64_t end = at + size;
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {at, end}}};
    at = end;
  };
  // Called twice: for the header, then for the bytes.
  const auto for_all = [&](const auto& as_stored, const auto& converted) {
    for (const StoredTensor* tensor : impl.checkpoint.tensors()) {
      if (impl.config.has_new_head && !impl.checkpoint.is_used(*tensor)) continue;
      const auto found = replaced.find(tensor->name);
      if (found == replaced.end()) {
        as_stored(*tensor);
      } else {
        for (const ConvertedTensor& written : found->second) converted(written);
      }
    }
  };
  for_all(
      [&](const StoredTensor& t) { declare(t.name, dtype_name(t.dtype), t.shape, t.size()); },
      [&](const ConvertedTensor& w) { declare(w.name, w.dtype, w.shape, std::ssize(w.bytes)); });
  std::string text = header.dump();
  text.append(-text.size() % 8, ' ');
  const uint64_t length = text.size();
  write({reinterpret_cast<const char*>(&length), sizeof(length)});
  write(text);
  for_all(
      [&](const StoredTensor& t) {
        if (!t.strides.empty()) return write(t.row_major());
        write({reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()});
      },
      [&](const ConvertedTensor& w) { write(w.bytes); });
}

}  // namespace bert::models
