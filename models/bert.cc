// SPDX-License-Identifier: Apache-2.0
#include "models/bert.h"

#include <algorithm>
#include <stdexcept>

namespace bert::models {
namespace {

using engine::Activation;
using engine::Linear;
using engine::Norm;
using engine::Precision;
using engine::Reads;
using engine::Tensor;

Norm read_norm(Checkpoint& checkpoint, const std::string& name, const Config& config) {
  return {checkpoint.vector(name + ".weight", config.hidden),
          checkpoint.vector(name + ".bias", config.hidden), config.norm_epsilon};
}

using Names = std::vector<std::string>;
const Names kQkv = {".attention.self.query", ".attention.self.key", ".attention.self.value"};
const Names kAttentionOutput = {".attention.output.dense"};
const Names kIntermediate = {".intermediate.dense"};
const Names kOutput = {".output.dense"};

Names below(const std::string& layer, Names names) {
  for (std::string& name : names) name.insert(0, layer);
  return names;
}

}  // namespace

Linear read_linear(Checkpoint& checkpoint, const std::vector<std::string>& names, int64_t columns,
                   int64_t width, Activation activation, Precision precision,
                   engine::ThreadPool& pool) {
  if (checkpoint.is_int8(names.front())) {
    return Linear(pool, checkpoint.int8(names, columns, width), width, activation);
  }
  std::vector<engine::Buffer> biases;
  std::vector<Linear::Part> parts;
  const auto release = [](const std::vector<Weight>* weights) {
    for (const Weight& weight : *weights) Checkpoint::release(weight);
    delete weights;
  };
  const std::shared_ptr<std::vector<Weight>> weights(new std::vector<Weight>, release);
  for (const std::string& name : names) {
    weights->push_back(checkpoint.matrix(name + ".weight", columns, width));
    biases.push_back(checkpoint.vector(name + ".bias", columns));
    parts.push_back({weights->back().view, biases.back().data()});
  }
  return Linear(pool, parts, activation, precision, weights);
}

Embeddings::Embeddings(Checkpoint& checkpoint, const Config& config)
    : word(
          checkpoint.matrix("embeddings.word_embeddings.weight", config.vocabulary, config.hidden)),
      position(checkpoint.matrix("embeddings.position_embeddings.weight", config.positions,
                                 config.hidden)),
      type(checkpoint.matrix("embeddings.token_type_embeddings.weight", config.types,
                             config.hidden)),
      norm(read_norm(checkpoint, "embeddings.LayerNorm", config)) {}

void Embeddings::run(const Batch& batch, engine::ThreadPool& pool, Tensor x) const {
  engine::embedding_sum(pool, {word.view, position.view, type.view}, batch.ids, batch.positions,
                        batch.type_ids, x);
  engine::layer_norm(pool, x, norm, x);
}

Layer::Layer(Checkpoint& checkpoint, const std::string& name, const Config& config,
             Precision precision_of_products, engine::ThreadPool& pool)
    : precision(precision_of_products),
      heads(config.heads),
      qkv(read_linear(checkpoint, below(name, kQkv), config.hidden, config.hidden, Activation::none,
                      precision, pool)),
      attention_output(read_linear(checkpoint, below(name, kAttentionOutput), config.hidden,
                                   config.hidden, Activation::none, precision, pool)),
      attention_norm(read_norm(checkpoint, name + ".attention.output.LayerNorm", config)),
      intermediate(read_linear(checkpoint, below(name, kIntermediate), config.intermediate,
                               config.hidden, config.activation, precision, pool)),
      output(read_linear(checkpoint, below(name, kOutput), config.hidden, config.intermediate,
                         Activation::none, precision, pool)),
      output_norm(read_norm(checkpoint, name + ".output.LayerNorm", config)) {}

std::vector<Layer::Dense> Layer::dense_layers() const {
  return {{kQkv, qkv},
          {kAttentionOutput, attention_output},
          {kIntermediate, intermediate},
          {kOutput, output}};
}

Tensor first_rows(const Batch& batch, engine::ConstTensor x, Workspace& space) {
  const Tensor first = space.rows.tensor(batch.sequences(), x.columns);
  for (int64_t i = 0; i < first.rows; ++i) {
    std::copy_n(x.row(batch.starts[i]), x.columns, first.row(i));
  }
  return first;
}

// One post-norm layer (Devlin et al. 2019, section 3). x: [T, H].
Tensor Layer::run(const Batch& batch, engine::ThreadPool& pool, Reads reads, Workspace& space,
                  Tensor x) const {
  const int64_t tokens = x.rows, hidden = x.columns;
  const int64_t rows = reads == Reads::all ? tokens : batch.sequences();
  space.wide.reserve(tokens * std::max(4 * hidden, intermediate.columns()));
  const Tensor states = {space.wide.data(), tokens, 3 * hidden};
  const Tensor context = {space.wide.data() + tokens * 3 * hidden, rows, hidden};

  qkv.run(pool, x, space.scratch, states);  // [T, 3H]
  engine::attention(pool, states, batch.starts, heads, reads, precision, space.scratch, context);
  if (reads == Reads::first) x = first_rows(batch, x, space);  // from here on [rows, H]
  attention_output.run_add(pool, context, space.scratch, x);   // dense + residual
  engine::layer_norm(pool, x, attention_norm, x);
  const int64_t most = feed_forward_rows * pool.threads();
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const Tensor part = {x.row(first), count, hidden};
    const Tensor wide = {space.wide.data(), count, intermediate.columns()};
    intermediate.run(pool, part, space.scratch, wide);  // [count, I], activation fused
    output.run_add(pool, wide, space.scratch, part);    // dense + residual
  }
  engine::layer_norm(pool, x, output_norm, x);
  return x;
}

Encoder::Encoder(Checkpoint& checkpoint, const Config& config, Precision precision_of_layers,
                 const Batch& example, engine::ThreadPool& pool)
    : precision(precision_of_layers),
      hidden(config.hidden),
      embeddings(checkpoint, config) {
  Workspace space;
  Tensor x = space.x.tensor(example.tokens(), hidden);
  const bool learns = precision == Precision::int8 && !checkpoint.is_int8();
  if (learns) {
    embeddings.run(example, pool, x);
    Checkpoint::release(embeddings.word);  // its rows lie far apart, and whole regions were read
  }
  for (int i = 0; i < config.layers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i);
    layers.emplace_back(checkpoint, name, config, precision, pool);
    try {
      if (learns) x = layers.back().run(example, pool, Reads::all, space, x);
    } catch (const std::domain_error& error) {
      throw std::runtime_error(checkpoint.path() + ": " + name + ": " + error.what());
    }
    if (precision == Precision::int8) layers.back().feed_forward_rows = 96;
  }
}

Tensor Encoder::run(const Batch& batch, engine::ThreadPool& pool, Reads reads, Workspace& space,
                    const Trace& trace) const {
  Tensor x = space.x.tensor(batch.tokens(), hidden);
  embeddings.run(batch, pool, x);
  if (trace) trace("embeddings", x.data, x.rows, x.columns);
  for (size_t i = 0; i < layers.size(); ++i) {
    x = layers[i].run(batch, pool, i + 1 < layers.size() ? Reads::all : reads, space, x);
    if (trace) trace("layer." + std::to_string(i), x.data, x.rows, x.columns);
  }
  return x;
}

}  // namespace bert::models
