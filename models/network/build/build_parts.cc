// SPDX-License-Identifier: Apache-2.0
#include "models/network/build/build_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "engine/attention/positions/alibi.h"

namespace bert::models {

using engine::Activation;
using engine::Linear;
using engine::Norm;
using engine::Precision;
using engine::Tensor;

namespace {

Weight zeros(int64_t columns) {
  Weight weight;
  weight.view = weight.copy.tensor(1, columns);
  return weight;
}

// Vaswani et al. 2017, section 3.5, in DistilBERT's layout: sines in the even columns.
Weight sinusoids(int64_t rows, int64_t columns) {
  Weight weight;
  const Tensor table = weight.copy.tensor(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const double angle =
          static_cast<double>(i) /
          std::pow(10000, static_cast<double>(j - j % 2) / static_cast<double>(columns));
      table.row(i)[j] = static_cast<float>(j % 2 ? std::cos(angle) : std::sin(angle));
    }
  }
  weight.view = table;
  return weight;
}

}  // namespace

Norm read_norm(Checkpoint& checkpoint, const std::string& name, int64_t width, const Config& config,
               bool may_have_bias) {
  const bool has_bias = config.has_bias.norm && may_have_bias;
  engine::Buffer gamma = checkpoint.vector(name + ".weight", width);
  for (int64_t i = 0; i < width; ++i) gamma.data()[i] += config.gain_offset;
  return {std::move(gamma),
          has_bias ? checkpoint.vector(name + ".bias", width) : engine::Buffer(width),
          config.norm_epsilon, !config.is_rms_norm, config.normalises};
}

Norm unit_norm(int64_t width, const Config& config) {
  engine::Buffer gamma(width);
  std::fill_n(gamma.data(), width, 1.0f);
  return {std::move(gamma), engine::Buffer(width), config.norm_epsilon, !config.is_rms_norm};
}

namespace {

// Columns [first, first + count) of an int8 layer.
Linear::Stored columns_of(const Linear::Stored& all, int64_t first, int64_t count) {
  const auto part = [&](const auto& values) {
    const int64_t each = std::ssize(values) / std::ssize(all.bias);
    return std::remove_cvref_t<decltype(values)>(values.begin() + first * each,
                                                 values.begin() + (first + count) * each);
  };
  return {.q = part(all.q),
          .scales = part(all.scales),
          .bias = part(all.bias),
          .exact = all.exact,
          .exact_weights = part(all.exact_weights)};
}

}  // namespace

namespace {

void scale_dense(float scale, Weight& weight, engine::Buffer& bias) {
  const engine::ConstTensor stored = weight.view;
  engine::Buffer scaled;
  weight.view = scaled.tensor(stored.rows, stored.columns);
  std::transform(stored.data, stored.data + stored.size(), scaled.data(),
                 [scale](float value) { return value * scale; });
  weight.copy = std::move(scaled);
  for (int64_t i = 0; i < bias.size(); ++i) bias.data()[i] *= scale;
}

}  // namespace

void check_width(const Checkpoint& checkpoint, const std::string& weight, int64_t width,
                 Precision precision) {
  constexpr int64_t kMaxInt8Width = 1 << 16;  // sums of more products could overflow 32 bits
  if (precision != Precision::int8 || width <= kMaxInt8Width) return;
  throw std::runtime_error(fmt::format("{}: '{}' has {} inputs, expected at most {} in int8",
                                       checkpoint.path(), weight, width, kMaxInt8Width));
}

Linear read_linear(Checkpoint& checkpoint, const DenseNames& dense, Activation activation,
                   const engine::Product& product, engine::Team& team) {
  const auto& [names, columns, width, has_bias, first, some, later, scale] = dense;
  std::vector<int64_t> of_each(names.size(), later > 0 ? later : columns);
  of_each.front() = columns;
  const bool stored = checkpoint.is_int8(names.front());
  check_width(checkpoint, names.front() + ".weight", width,
              stored ? Precision::int8 : product.precision);
  if (stored) {
    const Linear::Stored all = checkpoint.int8(names, of_each, width);
    return Linear(team, some > 0 ? columns_of(all, first, some) : all, width, activation,
                  engine::pick_product(Precision::int8, product.backend));
  }
  std::vector<engine::Buffer> biases;
  std::vector<Linear::Part> parts;
  const auto release = [](const std::vector<Weight>* weights) {
    for (const Weight& weight : *weights) Checkpoint::release(weight);
    delete weights;
  };
  const std::shared_ptr<std::vector<Weight>> weights(new std::vector<Weight>, release);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    weights->push_back(checkpoint.matrix(name + ".weight", of_each[i], width));
    biases.push_back(has_bias ? checkpoint.vector(name + ".bias", of_each[i])
                              : engine::Buffer(of_each[i]));
    Weight& weight = weights->back();
    if (scale != 1) scale_dense(scale, weight, biases.back());
    parts.push_back({{weight.view.row(first), some > 0 ? some : of_each[i], width},
                     biases.back().data() + first,
                     weight.description()});
  }
  return Linear(team, parts, activation, product, weights);
}

namespace {

// Each segment's embedding plus that of the first task.
Weight with_first_task(Checkpoint& checkpoint, const Config& config, const Weight& segments) {
  const Weight tasks = checkpoint.finite_matrix("embeddings.task_type_embeddings.weight",
                                                config.tasks, config.embedding);
  Weight sum;
  const Tensor table = sum.copy.tensor(config.types, config.embedding);
  for (int64_t i = 0; i < table.rows; ++i) {
    for (int64_t j = 0; j < table.columns; ++j) {
      table.row(i)[j] = segments.view.row(i)[j] + tasks.view.row(0)[j];
    }
  }
  sum.view = table;
  return sum;
}

}  // namespace

Weight read_type_table(Checkpoint& checkpoint, const Config& config) {
  if (config.types == 0) return zeros(config.summed_width());
  Weight table = checkpoint.finite_matrix("embeddings.token_type_embeddings.weight", config.types,
                                          config.summed_width());
  return config.tasks > 0 ? with_first_task(checkpoint, config, table) : std::move(table);
}

Weight read_position_table(Checkpoint& checkpoint, const Config& config) {
  // BERT models with relative positions store the table too, but do not add it.
  const bool is_bert = config.family->position_type == PositionType::absolute;
  if (!config.adds_positions && !is_bert) return zeros(config.embedding);
  const std::string name = config.family->embeddings.positions;
  const int64_t rows = config.first_position + config.positions;
  if (config.sinusoidal && !checkpoint.has(name)) return sinusoids(rows, config.embedding);
  Weight table = checkpoint.finite_matrix(name, rows, config.summed_width());
  return config.adds_positions ? std::move(table) : zeros(config.embedding);
}

std::optional<Linear> read_projection(Checkpoint& checkpoint, const Config& config,
                                      const engine::Product& f32, engine::Team& team) {
  const Family& family = *config.family;
  if (config.embedding == config.hidden && !family.always_projected) return std::nullopt;
  const int64_t width = (config.embeds_neighbours ? 3 : 1) * config.embedding;
  return read_linear(checkpoint, {{family.projection}, config.hidden, width}, Activation::none, f32,
                     team);
}

std::optional<Linear> read_output_projection(Checkpoint& checkpoint, const Config& config,
                                             const engine::Product& f32, engine::Team& team) {
  const char* const name = config.family->output_projection;
  if (!*name) return std::nullopt;
  return read_linear(checkpoint, {{name}, config.output, config.hidden, false}, Activation::none,
                     f32, team);
}

std::optional<engine::RelativeKeys> read_relative_keys(Checkpoint& checkpoint,
                                                       const std::string& layer,
                                                       const Config& config, engine::Team& team) {
  if (config.position_type != PositionType::relative_key &&
      config.position_type != PositionType::relative_key_query) {
    return std::nullopt;
  }
  const Weight table = checkpoint.finite_matrix(layer + ".attention.self.distance_embedding.weight",
                                                2 * config.positions - 1, config.head_size);
  return engine::RelativeKeys(team, table.view,
                              config.position_type == PositionType::relative_key_query);
}

// transformers 4 stores them in each layer, version 5 once, by the first name or the second.
std::vector<float> read_frequencies(Checkpoint& checkpoint, const Config& config,
                                    const std::vector<float>& computed) {
  const std::string once = "rotary_embeddings.inv_freq", each = ".attention.self." + once;
  std::vector<std::string> names = {once, "encoder.layer.*" + each};
  for (const std::string& layer : config.layer_names) names.push_back(layer + each);
  std::erase_if(names, [&](const std::string& name) { return !checkpoint.has(name); });
  std::vector<float> found;
  for (const std::string& name : names) {
    const engine::Buffer stored = checkpoint.vector(name, std::ssize(computed));
    const std::span<const float> values(stored.data(), computed.size());
    if (found.empty()) found.assign(values.begin(), values.end());
    if (std::ranges::equal(found, values)) continue;
    throw std::runtime_error(fmt::format("{}: tensor '{}' differs from '{}', expected the same",
                                         checkpoint.path(), name, names.front()));
  }
  return names.empty() ? computed : found;
}

// A bias by distance for each head (Raffel et al. 2020). Each direction has half of the 32 buckets;
// half of those hold one distance each, from 0 up, and the rest grow logarithmically up to 128.
std::unique_ptr<engine::RelativeBias> read_relative_bias(Checkpoint& checkpoint,
                                                         const Config& config) {
  if (config.position_type == PositionType::alibi) {
    return std::make_unique<engine::RelativeBias>(
        engine::linear_biases(config.heads, config.head_size, config.positions));
  }
  if (!*config.family->relative_bias) return nullptr;
  constexpr int64_t kBuckets = 32, kHalf = kBuckets / 2, kExact = kHalf / 2;
  const Weight table =
      checkpoint.finite_matrix(config.family->relative_bias, kBuckets, config.heads);
  auto bias = std::make_unique<engine::RelativeBias>();
  bias->max_tokens = config.positions;
  const int64_t width = 2 * bias->max_tokens - 1;
  bias->values.resize_discarding(config.heads * width);
  const float unscaled = config.attention_scale > 0
                             ? 1 / config.attention_scale
                             : std::sqrt(static_cast<float>(config.head_size));
  for (int64_t i = 0; i < width; ++i) {
    const int64_t behind = i - (bias->max_tokens - 1), distance = std::abs(behind);
    // kExact + log(distance / kExact) / log(128 / kExact) * kExact, rounded down. In integers,
    // because logarithms of powers of two may round either way.
    const int64_t wide = std::bit_width(static_cast<uint64_t>(distance * distance)) + 1;
    const int64_t bucket = distance < kExact ? distance : std::min(wide, kHalf - 1);
    const float* row = table.view.row((behind > 0 ? kHalf : 0) + bucket);
    for (int64_t head = 0; head < config.heads; ++head) {
      bias->values.data()[head * width + i] = row[head] * unscaled;
    }
  }
  return bias;
}

Weight read_distances(Checkpoint& checkpoint, const Config& config, engine::Team& team) {
  if (config.position_type != PositionType::disentangled) return {};
  const Config::Distances& distances = config.distances;
  const int64_t span = distances.buckets > 0 ? distances.buckets : distances.most;
  const Weight stored =
      checkpoint.finite_matrix("encoder.rel_embeddings.weight", 2 * span, config.hidden);
  Weight result;
  const Tensor copy = result.copy.tensor(2 * span, config.hidden);
  std::copy_n(stored.view.data, stored.view.size(), copy.data);
  if (distances.normed) {
    engine::layer_norm(team, copy,
                       read_norm(checkpoint, "encoder.LayerNorm", config.hidden, config), copy);
  }
  result.view = copy;
  return result;
}

std::optional<Linear> read_distance_weights(Checkpoint& checkpoint, bool has,
                                            const std::string& name, bool has_bias,
                                            const Config& config, const engine::Product& f32,
                                            engine::Team& team) {
  if (!has || config.distances.shared) return std::nullopt;
  return read_linear(checkpoint, {{name}, config.hidden, config.hidden, has_bias}, Activation::none,
                     f32, team);
}

WeightTable read_decoder(Checkpoint& checkpoint, const Config& config, const std::string& name,
                         const WeightTable& words) {
  if (config.tied && words.stored->addition) {  // PEFT would add it to the embeddings alone
    throw std::runtime_error(
        words.description() +
        ": an adapter adds to it, but the decoder shares it: merge the adapter "
        "into its model, as PEFT's merge_and_unload does");
  }
  if (config.tied && !checkpoint.has(name + ".weight")) return {};
  WeightTable own = checkpoint.table(name + ".weight", config.vocabulary, config.decoder_width);
  if (!config.tied) return own;
  checkpoint.expect_equal(own, words, "config.json's tie_word_embeddings is true");
  return {};
}

engine::Buffer read_decoder_bias(Checkpoint& checkpoint, const Config& config,
                                 const std::string& own, const std::string& tied) {
  if (!config.has_bias.decoder) return engine::Buffer(config.vocabulary);
  const bool has_own = checkpoint.has(own);
  if (own == tied || !has_own || !checkpoint.has(tied)) {
    const std::string& name = has_own ? own : tied;
    // BART's is a matrix of one row.
    const bool is_row = checkpoint.has(name) && checkpoint.stored(name).shape.size() == 2;
    return is_row ? checkpoint.values(name, {1, config.vocabulary})
                  : checkpoint.vector(name, config.vocabulary);
  }
  engine::Buffer bias = checkpoint.vector(own, config.vocabulary);
  const engine::Buffer other = checkpoint.vector(tied, config.vocabulary);
  if (config.tied && !std::equal(bias.data(), bias.data() + config.vocabulary, other.data())) {
    throw std::runtime_error(fmt::format("{}: tensor '{}' differs from '{}', expected the same",
                                         checkpoint.path(), own, tied));
  }
  return bias;
}

}  // namespace bert::models
