// SPDX-License-Identifier: Apache-2.0
#include "models/network/bert.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "models/network/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Precision;
using engine::Reads;
using engine::Tensor;

Embeddings::Embeddings(Checkpoint& checkpoint, const Config& config, engine::ThreadPool& pool)
    : word(checkpoint.matrix("embeddings.word_embeddings.weight", config.vocabulary,
                             config.embedding)),
      position(read_position_table(checkpoint, config)),
      type(read_type_table(checkpoint, config)),
      norm(read_norm(checkpoint, "embeddings.LayerNorm", config.embedding, config)),
      projection(read_projection(checkpoint, config, pool)) {}

void Embeddings::run(const Batch& batch, engine::ThreadPool& pool, Workspace& space,
                     Tensor x) const {
  const Tensor sum = projection ? space.embedded.tensor(x.rows, word.view.columns) : x;
  engine::embedding_sum(pool, {word.view, position.view, type.view}, batch.ids, batch.positions,
                        batch.type_ids, sum);
  engine::layer_norm(pool, sum, norm, sum);
  if (projection) projection->run(pool, sum, space.scratch, x);
}

Layer::Layer(Checkpoint& checkpoint, const std::string& name_in_checkpoint, const Config& config,
             Precision precision_of_products, const engine::RelativeBias* bias,
             engine::ThreadPool& pool)
    : name(name_in_checkpoint),
      names(config.family->layer),
      precision(precision_of_products),
      heads(config.heads),
      qkv(read_linear(checkpoint, {name + names.query, name + names.key, name + names.value},
                      config.hidden, config.hidden, Activation::none, precision, pool)),
      relative_bias(bias),
      relative_keys(read_relative_keys(checkpoint, name, config, pool)),
      attention_output(read_linear(checkpoint, {name + names.attention_output}, config.hidden,
                                   config.hidden, Activation::none, precision, pool)),
      attention_norm(read_norm(checkpoint, name + names.attention_norm, config.hidden, config)),
      intermediate(read_linear(checkpoint, {name + names.intermediate}, config.intermediate,
                               config.hidden, config.activation, precision, pool)),
      output(read_linear(checkpoint, {name + names.output}, config.hidden, config.intermediate,
                         Activation::none, precision, pool)),
      output_norm(read_norm(checkpoint, name + names.output_norm, config.hidden, config)) {
  qkv.precede(attention_output);
  attention_output.precede(intermediate);
  intermediate.precede(output);
}

std::vector<Layer::Dense> Layer::dense_layers() const {
  return {{{name + names.query, name + names.key, name + names.value}, qkv},
          {{name + names.attention_output}, attention_output},
          {{name + names.intermediate}, intermediate},
          {{name + names.output}, output}};
}

Tensor first_rows(const Batch& batch, engine::ConstTensor x, Workspace& space) {
  const Tensor first = space.rows.tensor(batch.sequences(), x.columns);
  for (int64_t i = 0; i < first.rows; ++i) {
    std::copy_n(x.row(batch.starts[i]), x.columns, first.row(i));
  }
  return first;
}

// One post-norm layer (Devlin et al. 2019, section 3). x: [T, H].
Tensor Layer::run(const Batch& batch, engine::ThreadPool& pool, Reads reads, bool probabilities,
                  Workspace& space, Tensor x) const {
  const int64_t tokens = x.rows, hidden = x.columns;
  const int64_t rows = reads == Reads::all ? tokens : batch.sequences();
  space.wide.reserve(tokens * std::max(4 * hidden, intermediate.columns()));
  const Tensor states = {space.wide.data(), tokens, 3 * hidden};
  const Tensor context = {space.wide.data() + tokens * 3 * hidden, rows, hidden};

  qkv.run(pool, x, space.scratch, states);  // [T, 3H]
  engine::attention(pool, states, batch.starts,
                    {.heads = heads,
                     .reads = reads,
                     .precision = precision,
                     .bias = relative_bias,
                     .keys = relative_keys ? &*relative_keys : nullptr,
                     .probabilities = probabilities ? space.probabilities.data() : nullptr},
                    space.scratch, context);
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

namespace {

// One that is left to learn would do so from whatever comes first.
void check_precision(const Checkpoint& checkpoint, const Layer& layer, bool is_int8) {
  for (const Layer::Dense& dense : layer.dense_layers()) {
    for (const std::string& name : dense.names) {
      if (checkpoint.is_int8(name) == is_int8) continue;
      throw std::runtime_error(checkpoint.path() + ": '" + name + ".weight' is " +
                               (is_int8 ? "not int8, expected int8" : "int8, expected floats") +
                               " as in the encoder's first layer");
    }
  }
}

}  // namespace

Encoder::Encoder(Checkpoint& checkpoint, const Config& config, Precision precision_of_layers,
                 const Batch& example, engine::ThreadPool& pool)
    : precision(precision_of_layers),
      hidden(config.hidden),
      embeddings(checkpoint, config, pool),
      relative_bias(read_relative_bias(checkpoint, config)),
      order(config.layer_order),
      in_one(config.inner_layers) {
  Workspace space;
  Tensor x = space.x.tensor(example.tokens(), hidden);
  const bool stored = checkpoint.is_int8(config.layer_names.front() + config.family->layer.output);
  const bool learns = precision == Precision::int8 && !stored;
  if (learns) {
    embeddings.run(example, pool, space, x);
    Checkpoint::release(embeddings.word);  // its rows lie far apart, and whole regions were read
  }
  layers.reserve(config.layer_names.size());
  for (const std::string& name : config.layer_names) {
    layers.emplace_back(checkpoint, name, config, precision, relative_bias.get(), pool);
    check_precision(checkpoint, layers.back(), stored);
    try {
      if (learns) x = layers.back().run(example, pool, Reads::all, false, space, x);
    } catch (const std::domain_error& error) {
      throw std::runtime_error(checkpoint.path() + ": " + name + ": " + error.what());
    }
    if (precision == Precision::int8) layers.back().feed_forward_rows = 96;
  }
  for (size_t i = 0; i < layers.size(); ++i) {  // the last before the first of the next batch
    layers[i].output.precede(layers[(i + 1) % layers.size()].qkv);
  }
}

Tensor Encoder::run(const Batch& batch, engine::ThreadPool& pool, Reads reads, Workspace& space,
                    const Trace& trace) const {
  Tensor x = space.x.tensor(batch.tokens(), hidden);
  embeddings.run(batch, pool, space, x);
  trace("embeddings", x);
  for (size_t i = 0; i < order.size(); ++i) {
    const bool probabilities = trace.wants_attention(i);
    if (probabilities) space.probabilities.reserve(batch.pairs() * layers.front().heads);
    for (int j = 0; j < in_one; ++j) {
      const bool last = i + 1 == order.size() && j + 1 == in_one;
      x = layers[order[i] + j].run(batch, pool, last ? reads : Reads::all,
                                   probabilities && j + 1 == in_one, space, x);
    }
    if (probabilities) {
      trace("attention." + std::to_string(i),
            {space.probabilities.data(), layers.front().heads, batch.pairs()});
    }
    trace("layer." + std::to_string(i), x);
  }
  return x;
}

}  // namespace bert::models
