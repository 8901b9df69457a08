// SPDX-License-Identifier: Apache-2.0
#include "models/sentence.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/json_file.h"

namespace bert::models {

using engine::Activation;
using engine::ConstTensor;
using engine::Tensor;

// [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
//  {…, "path": "1_Pooling", "type": "….Pooling"}, {…, "path": "2_Dense", "type": "….Dense"},
//  {…, "path": "3_Normalize", "type": "….Normalize"}]
SentenceEmbedding::SentenceEmbedding(const std::string& directory, const Config& config,
                                     engine::ThreadPool& pool)
    : hidden_(config.hidden) {
  const std::string path = directory + "/modules.json";
  if (!file_exists(path)) return;
  const JsonFile file(path);
  const auto fail = [&](size_t i, const std::string& reason) {
    throw std::runtime_error(fmt::format("{}: module {}: {}", path, i, reason));
  };
  if (!file.root().is_array()) throw std::runtime_error(path + ": expected an array of modules");
  for (size_t i = 0; i < file.root().size(); ++i) {
    const nlohmann::json& module = file.root()[i];
    if (!module.is_object() || !module.contains("type") || !module["type"].is_string() ||
        !module.contains("path") || !module["path"].is_string()) {
      fail(i, "expected an object with the strings 'type' and 'path'");
    }
    const auto type = module["type"].get<std::string>();
    const std::string name = type.substr(type.rfind('.') + 1);
    const std::string folder = directory + "/" + module["path"].get<std::string>();
    if (name == "Pooling" && i == 1) {
      read_pooling(folder + "/config.json");
    } else if (name == "Dense" && i > 1 && !normalize_) {
      read_dense(folder, pool);
    } else if (name == "Normalize" && i > 1 && !normalize_) {
      normalize_ = true;
    } else if (name != "Transformer" || i > 0) {
      fail(i, fmt::format("'type' is '{}', expected Transformer, Pooling and, if any, Dense and "
                          "Normalize, in this order",
                          type));
    }
  }
  if (!configured_) fail(file.root().size(), "missing, expected Pooling");
}

// Exactly one pooling_mode_* that is known may be true; what is not named is false, but for the
// mean. Newer files have "pooling_mode": "mean" instead.
void SentenceEmbedding::read_pooling(const std::string& path) {
  const JsonFile file(path);
  file.integer("word_embedding_dimension", hidden_, hidden_, hidden_);
  if (!file.boolean("include_prompt", true)) file.fail("include_prompt", "true");
  std::vector<std::string> modes;
  if (file.find("pooling_mode")) {
    const std::string mode = file.text("pooling_mode");
    modes = {"pooling_mode_" + mode + (mode == "cls" ? "_token" : "_tokens")};
  } else {
    if (!file.find("pooling_mode_mean_tokens")) modes.emplace_back("pooling_mode_mean_tokens");
    for (const auto& [field, value] : file.root().items()) {
      if (field.starts_with("pooling_mode_") && file.boolean(field, false)) modes.push_back(field);
    }
  }
  configured_ = true;
  if (modes == std::vector<std::string>{"pooling_mode_cls_token"}) {
    kind_ = Kind::cls;
  } else if (modes == std::vector<std::string>{"pooling_mode_max_tokens"}) {
    kind_ = Kind::max;
  } else if (modes != std::vector<std::string>{"pooling_mode_mean_tokens"}) {
    throw std::runtime_error(fmt::format(
        "{}: {} pooling modes are true{}, expected one of pooling_mode_cls_token, "
        "pooling_mode_mean_tokens and pooling_mode_max_tokens",
        path, modes.size(), modes.empty() ? "" : fmt::format(" (the first is {})", modes[0])));
  }
}

// config.json, and linear.weight [out, in] and linear.bias [out] in model.safetensors or
// pytorch_model.bin.
void SentenceEmbedding::read_dense(const std::string& directory, engine::ThreadPool& pool) {
  const JsonFile file(directory + "/config.json");
  const int64_t in = columns(), out = file.integer("out_features", 1, 1 << 20);
  file.integer("in_features", in, in);
  const std::string function = file.text("activation_function", "torch.nn.modules.activation.Tanh");
  const bool tanh = function == "torch.nn.modules.activation.Tanh";
  if (!tanh && function != "torch.nn.modules.linear.Identity") {
    file.fail("activation_function",
              "torch.nn.modules.activation.Tanh or torch.nn.modules.linear.Identity");
  }
  const Weights weights = open_weights(directory);
  const auto read = [&](const std::string& name, const std::vector<int64_t>& shape) {
    for (const WeightFile& part : weights.files) {
      const StoredTensor* tensor = part.find(name);
      if (!tensor) continue;
      if (tensor->shape != shape) {
        throw std::runtime_error(fmt::format("{}: tensor '{}' has the shape [{}], expected [{}]",
                                             part.path(), name, fmt::join(tensor->shape, ", "),
                                             fmt::join(shape, ", ")));
      }
      part.check(*tensor);
      engine::Buffer values(tensor->elements());
      tensor->copy_to(values.data());
      return values;
    }
    throw std::runtime_error(fmt::format("{}: tensor '{}' is missing", weights.path, name));
  };
  const bool biased = file.boolean("bias", true);
  for (const WeightFile& part : weights.files) {
    for (const StoredTensor& tensor : part.tensors()) {
      if (tensor.name == "linear.weight" || (biased && tensor.name == "linear.bias")) continue;
      throw std::runtime_error(
          fmt::format("{}: tensor '{}' is unexpected, {}/config.json has 'bias' {}", part.path(),
                      tensor.name, directory, biased));
    }
  }
  const engine::Buffer weight = read("linear.weight", {out, in});
  const engine::Buffer bias = biased ? read("linear.bias", {out}) : engine::Buffer(out);
  const engine::Linear::Part parts[] = {{{weight.data(), out, in}, bias.data()}};
  dense_.emplace_back(pool, parts, tanh ? Activation::tanh : Activation::none);
}

std::string SentenceEmbedding::description() const {
  std::string text = kind_ == Kind::cls ? "cls" : kind_ == Kind::mean ? "mean" : "max";
  for (const engine::Linear& dense : dense_) text += fmt::format(", dense to {}", dense.columns());
  if (normalize_) text += ", normalised";
  return text + (configured_ ? "" : " (no modules.json says otherwise)");
}

// y [H], of rows from begin to end.
void SentenceEmbedding::pool_rows(ConstTensor x, int64_t begin, int64_t end, float* y) const {
  std::copy_n(x.row(begin), x.columns, y);
  for (int64_t t = begin + 1; t < end && kind_ != Kind::cls; ++t) {
    const float* row = x.row(t);
    for (int64_t j = 0; j < x.columns; ++j) {
      y[j] = kind_ == Kind::max ? std::max(y[j], row[j]) : y[j] + row[j];
    }
  }
  if (kind_ != Kind::mean) return;
  for (int64_t j = 0; j < x.columns; ++j) y[j] /= static_cast<float>(end - begin);
}

Tensor SentenceEmbedding::run(const Batch& batch, engine::Reads reads, Tensor x,
                              engine::ThreadPool& pool, Workspace& space) const {
  const bool first = reads == engine::Reads::first;
  Tensor y = space.pooled.tensor(batch.sequences(), x.columns);
  pool.run(y.rows, [&](int64_t i, int) {
    pool_rows(x, first ? i : batch.starts[i], first ? i + 1 : batch.starts[i + 1], y.row(i));
  });
  for (size_t i = 0; i < dense_.size(); ++i) {
    engine::Buffer& to = i % 2 ? space.pooled : space.transformed;
    const Tensor next = to.tensor(y.rows, dense_[i].columns());
    dense_[i].run(pool, y, space.scratch, next);
    y = next;
  }
  for (int64_t i = 0; i < y.rows && normalize_; ++i) {
    float* row = y.row(i);
    double squares = 0;
    for (int64_t j = 0; j < y.columns; ++j) squares += static_cast<double>(row[j]) * row[j];
    // As torch.nn.functional.normalize: a vector of zeros stays one.
    const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t j = 0; j < y.columns; ++j) row[j] /= length;
  }
  return y;
}

std::optional<JsonFile> read_sentence_settings(const std::string& directory) {
  for (const char* name : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta"}) {
    const std::string path = fmt::format("{}/sentence_{}_config.json", directory, name);
    if (file_exists(path)) return JsonFile(path);
  }
  return std::nullopt;
}

Prompts read_prompts(const std::string& directory) {
  Prompts prompts;
  const std::string path = directory + "/config_sentence_transformers.json";
  if (!file_exists(path)) return prompts;
  const JsonFile file(path);
  if (const nlohmann::json* named = file.find("prompts")) {
    if (!named->is_object()) file.fail("prompts", "an object of strings");
    for (const auto& [name, prompt] : named->items()) {
      if (!prompt.is_string()) file.fail("prompts", fmt::format("a string under '{}'", name));
      prompts.by_name[name] = prompt.get<std::string>();
    }
  }
  prompts.usual = file.text("default_prompt_name", "");
  if (!prompts.usual.empty() && !prompts.by_name.contains(prompts.usual)) {
    file.fail("default_prompt_name", "the name of one of 'prompts'");
  }
  return prompts;
}

}  // namespace bert::models
