// SPDX-License-Identifier: Apache-2.0
#include "models/heads.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "models/json_file.h"
#include "models/weights.h"

namespace bert::models {

using engine::Activation;
using engine::ConstTensor;
using engine::Tensor;

Pooler::Pooler(Checkpoint& checkpoint, const Config& config, engine::ThreadPool& pool)
    : dense(read_linear(checkpoint, {config.family->pooler}, config.hidden, config.hidden,
                        Activation::tanh, engine::Precision::f32, pool)) {}

Tensor Pooler::run(engine::ThreadPool& pool, ConstTensor first, Workspace& space) const {
  const Tensor pooled = space.pooled.tensor(first.rows, first.columns);
  dense.run(pool, first, space.scratch, pooled);
  return pooled;
}

Head::Head(Checkpoint& checkpoint, const Config& config, const HeadRow& head_row,
           const Embeddings& embeddings, engine::ThreadPool& pool)
    : row(head_row) {
  const bool masked_lm = row.kind == HeadKind::masked_lm;
  const int64_t width = masked_lm ? config.embedding : config.hidden;
  if (*row.transform) {
    const Activation activation =
        *row.activation ? *find_activation(row.activation) : config.activation;
    transform.emplace(read_linear(checkpoint, {row.transform}, width, config.hidden, activation,
                                  engine::Precision::f32, pool));
  }
  if (*row.norm) norm.emplace(read_norm(checkpoint, row.norm, width, config));
  const std::string name = row.output;
  if (!masked_lm) {
    output.emplace(read_linear(checkpoint, {name}, std::ssize(config.labels_of(row)), config.hidden,
                               Activation::none, engine::Precision::f32, pool));
    return;
  }
  // Both are tied to others in transformers, which writes either or both of each pair.
  if (!config.tied || checkpoint.has(name + ".weight")) {
    own_decoder = checkpoint.matrix(name + ".weight", config.vocabulary, config.embedding);
    if (config.tied) {
      checkpoint.expect_equal(own_decoder, embeddings.word);
      own_decoder = {};
    }
  }
  decoder = config.tied ? embeddings.word.view : own_decoder.view;
  const std::string other = name + ".bias";
  decoder_bias = checkpoint.vector(checkpoint.has(row.bias) ? row.bias : other, config.vocabulary);
  if (other != row.bias && checkpoint.has(other)) checkpoint.vector(other, config.vocabulary);
}

Tensor Head::run(engine::ThreadPool& pool, ConstTensor x, Workspace& space) const {
  if (transform) {
    const Tensor transformed = space.transformed.tensor(x.rows, transform->columns());
    transform->run(pool, x, space.scratch, transformed);
    if (norm) engine::layer_norm(pool, transformed, *norm, transformed);
    x = transformed;
  }
  const Tensor logits = space.logits.tensor(x.rows, columns());
  if (output) {
    output->run(pool, x, space.scratch, logits);
  } else {
    engine::multiply_in_place(pool, x, decoder, decoder_bias.data(), logits);
  }
  return logits;
}

std::string Pooling::description() const {
  const char* name = kind == Kind::cls ? "cls" : kind == Kind::mean ? "mean" : "max";
  return std::string(name) + (normalize ? ", normalised" : "");
}

void Pooling::run(ConstTensor x, int64_t begin, int64_t end, float* y) const {
  std::copy_n(x.row(begin), x.columns, y);
  if (kind != Kind::cls) {
    for (int64_t t = begin + 1; t < end; ++t) {
      const float* row = x.row(t);
      for (int64_t j = 0; j < x.columns; ++j)
        y[j] = kind == Kind::max ? std::max(y[j], row[j]) : y[j] + row[j];
    }
  }
  if (kind == Kind::mean) {
    for (int64_t j = 0; j < x.columns; ++j) y[j] /= static_cast<float>(end - begin);
  }
  if (normalize) {
    double squares = 0;
    for (int64_t j = 0; j < x.columns; ++j) squares += static_cast<double>(y[j]) * y[j];
    // As torch.nn.functional.normalize: a vector of zeros stays one.
    const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t j = 0; j < x.columns; ++j) y[j] /= length;
  }
}

namespace {

// 1_Pooling/config.json: exactly one pooling_mode_* that is known may be true.
Pooling::Kind read_pooling_mode(const JsonFile& file, const Config& config) {
  file.integer("word_embedding_dimension", config.hidden, config.hidden, config.hidden);
  std::vector<std::string> modes;
  for (const auto& [field, value] : file.root().items()) {
    if (field.starts_with("pooling_mode_") && file.boolean(field, false)) modes.push_back(field);
  }
  if (modes.size() == 1) {
    if (modes[0] == "pooling_mode_cls_token") return Pooling::Kind::cls;
    if (modes[0] == "pooling_mode_mean_tokens") return Pooling::Kind::mean;
    if (modes[0] == "pooling_mode_max_tokens") return Pooling::Kind::max;
  }
  throw std::runtime_error(fmt::format(
      "{}: {} pooling modes are true{}, expected one of pooling_mode_cls_token, "
      "pooling_mode_mean_tokens and pooling_mode_max_tokens",
      file.path(), modes.size(), modes.empty() ? "" : fmt::format(" (the first is {})", modes[0])));
}

}  // namespace

// modules.json: [{"idx": 0, "name": "0", "path": "", "type":
// "sentence_transformers.models.Transformer"}, {…, "path": "1_Pooling", "type": "….Pooling"}, {…,
// "path": "2_Normalize", "type": "….Normalize"}]
Pooling read_pooling(const std::string& directory, const Config& config) {
  Pooling pooling;
  const std::string path = directory + "/modules.json";
  if (!file_exists(path)) return pooling;
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
    const char* expected = i == 0 ? "Transformer" : i == 1 ? "Pooling" : i == 2 ? "Normalize" : "";
    if (name != expected) {
      fail(i,
           fmt::format("'type' is '{}', expected Transformer, Pooling and, if any, Normalize, in "
                       "this order",
                       type));
    }
    if (name == "Pooling") {
      const JsonFile settings(directory + "/" + module["path"].get<std::string>() + "/config.json");
      pooling.kind = read_pooling_mode(settings, config);
      pooling.configured = true;
    }
    pooling.normalize = name == "Normalize";
  }
  if (!pooling.configured) fail(file.root().size(), "missing, expected Pooling");
  return pooling;
}

}  // namespace bert::models
