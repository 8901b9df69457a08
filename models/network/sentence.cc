// SPDX-License-Identifier: Apache-2.0
#include "models/network/sentence.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/json_file.h"

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
    // A class of somebody else's may do anything.
    const bool known = type.starts_with("sentence_transformers.");
    const std::string name = known ? type.substr(type.rfind('.') + 1) : type;
    const std::string folder = directory + "/" + module["path"].get<std::string>();
    if (i == 0 && module["path"] != "") {
      fail(i, fmt::format("'path' is {}, expected \"\"", module["path"].dump()));
    }
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
  // A CrossEncoder has no pooling, but a head.
  const bool scores = file.root().size() == 1 && !config.heads_on_top.empty();
  if (!configured_ && !scores) fail(file.root().size(), "missing, expected Pooling");
  const std::string settings = directory + "/config_sentence_transformers.json";
  if (!file_exists(settings)) return;
  const int64_t cut = JsonFile(settings).integer("truncate_dim", 1, INT_MAX, width());
  if (cut < width()) cut_ = cut;
}

// Exactly one pooling_mode_* that is known may be true; what is not named is false, but for the
// mean. Newer files have "pooling_mode": "mean" or ["mean"] instead.
void SentenceEmbedding::read_pooling(const std::string& path) {
  const JsonFile file(path);
  file.integer("word_embedding_dimension", hidden_, hidden_, hidden_);
  if (!file.boolean("include_prompt", true)) file.fail("include_prompt", "true");
  std::vector<std::string> modes;
  if (const nlohmann::json* mode = file.find("pooling_mode")) {
    const bool is_list = mode->is_array() && mode->size() == 1;
    const nlohmann::json& only = is_list ? mode->front() : *mode;
    if (only == "cls" || only == "mean" || only == "max") {
      const auto name = only.get<std::string>();
      modes = {"pooling_mode_" + name + (name == "cls" ? "_token" : "_tokens")};
    } else {
      file.fail("pooling_mode", "cls, mean or max");
    }
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
  const int64_t in = width(), out = file.integer("out_features", 1, 1 << 20);
  file.integer("in_features", in, in);
  if (file.boolean("use_residual", false)) file.fail("use_residual", "false");
  for (const char* field : {"module_input_name", "module_output_name"}) {
    if (file.text(field, "sentence_embedding") != "sentence_embedding") {
      file.fail(field, "\"sentence_embedding\"");
    }
  }
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
  if (cut_) text += fmt::format(", the first {}", *cut_);
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
  const Tensor cut = {y.data, y.rows, columns()};
  for (int64_t i = 1; cut_ && i < y.rows; ++i) std::copy_n(y.row(i), cut.columns, cut.row(i));
  return cut;
}

namespace {

// What changes what the encoder gives to the modules after it, or what it reads, and is not built.
void refuse_variants(const JsonFile& file) {
  const std::string task = file.text("transformer_task", "feature-extraction");
  const bool scores = task == "sequence-classification";
  if (!scores && task != "feature-extraction" && task != "fill-mask") {
    file.fail("transformer_task", "feature-extraction, sequence-classification or fill-mask");
  }
  const nlohmann::json text = {
      {"method", "forward"},
      {"method_output_name", task == "feature-extraction" ? "last_hidden_state" : "logits"}};
  const nlohmann::json* modality = file.find("modality_config");
  if (modality && *modality != nlohmann::json{{"text", text}}) {
    file.fail("modality_config", nlohmann::json{{"text", text}}.dump());
  }
  for (const char* field : {"processing_kwargs", "query_expansion"}) {
    const nlohmann::json* value = file.find(field);
    if (value && !value->empty()) file.fail(field, "none");
  }
}

}  // namespace

std::optional<JsonFile> read_sentence_settings(const std::string& directory) {
  for (const char* name : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta"}) {
    const std::string path = fmt::format("{}/sentence_{}_config.json", directory, name);
    if (!file_exists(path)) continue;
    JsonFile file(path);
    refuse_variants(file);
    return file;
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
      if (!prompt.is_string() && !prompt.is_null()) {
        file.fail("prompts", fmt::format("a string under '{}'", name));
      }
      prompts.by_name[name] = prompt.is_null() ? "" : prompt.get<std::string>();
    }
  }
  prompts.usual = file.text("default_prompt_name", "");
  if (!prompts.usual.empty() && !prompts.by_name.contains(prompts.usual)) {
    file.fail("default_prompt_name", "the name of one of 'prompts'");
  }
  return prompts;
}

}  // namespace bert::models
