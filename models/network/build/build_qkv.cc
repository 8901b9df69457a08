// SPDX-License-Identifier: Apache-2.0
//
// A layer's queries, keys and values, in the order in which attention reads them.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Tensor;

namespace {

// Three tensors, or one if the family always has one or this checkpoint does.
DenseNames qkv_names(const Checkpoint& checkpoint, const std::string& name, const LayerNames& names,
                     const Config& config, const Config::HeadShape& heads) {
  const int64_t hidden = config.hidden, columns = config.heads * heads.size;
  const int64_t later = heads.key_heads * heads.size;
  if (config.bottleneck.width > 0) {  // values are projected from another state
    return {{name + names.query, name + names.key}, columns, config.inner_width()};
  }
  const bool packed = *names.qkv && (!*names.query || checkpoint.has(name + names.qkv + ".weight"));
  if (packed) return {{name + names.qkv}, 3 * columns, hidden, config.has_bias.qkv};
  return {.names = {name + names.query, name + names.key, name + names.value},
          .columns = columns,
          .width = hidden,
          .has_bias = config.has_bias.qkv,
          .later_columns = later};
}

// Where row `row` of queries or keys goes, in heads of that width, if the neighbours in them become
// those of two halves.
int64_t half_split(int64_t row, int64_t width) {
  const int64_t i = row % width;
  return row - i + i % 2 * (width / 2) + i / 2;
}

// The biases [3H] of a layer that has those of queries and values by names of their own, or zeros.
engine::Buffer read_own_biases(Checkpoint& checkpoint, const std::string& layer,
                               const LayerNames& names, int64_t hidden) {
  engine::Buffer bias(3 * hidden);
  if (!*names.query_bias) return bias;
  const engine::Buffer query = checkpoint.vector(layer + names.query_bias, hidden),
                       value = checkpoint.vector(layer + names.value_bias, hidden);
  std::copy_n(query.data(), hidden, bias.data());
  std::copy_n(value.data(), hidden, bias.data() + 2 * hidden);
  return bias;
}

// From stacked heads: all queries' rows, then all keys' and all values'.
std::shared_ptr<engine::Buffer> sort_heads(engine::ConstTensor stacked, int heads,
                                           bool rotates_neighbours) {
  const auto sorted = std::make_shared<engine::Buffer>();
  const Tensor rows = sorted->tensor(stacked.rows, stacked.columns);
  const int64_t hidden = stacked.columns, width = hidden / heads;
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t head = row / (3 * width), part = row / width % 3;
    const int64_t place = head * width + row % width;
    const bool moves = rotates_neighbours && part < 2;
    const int64_t to = part * hidden + (moves ? half_split(place, width) : place);
    std::copy_n(stacked.row(row), hidden, rows.row(to));
  }
  return sorted;
}

engine::Linear read_stacked_heads(Checkpoint& checkpoint, const std::string& layer,
                                  const DenseNames& dense, const Config& config,
                                  const engine::Product& product, engine::Team& team) {
  const LayerNames& names = config.family->layer;
  const engine::Buffer bias = read_own_biases(checkpoint, layer, names, config.hidden);
  const Weight stacked =
      checkpoint.matrix(dense.names.front() + ".weight", dense.columns, dense.width);
  const auto sorted = sort_heads(stacked.view, config.heads, names.rotates_neighbours);
  Checkpoint::release(stacked);
  const engine::Linear::Part part = {
      {sorted->data(), dense.columns, dense.width}, bias.data(), stacked.description()};
  return engine::Linear(team, {&part, 1}, Activation::none, product, sorted);
}

// Three tensors, of which the first two are sorted.
engine::Linear read_neighbours(Checkpoint& checkpoint, const DenseNames& dense, int64_t width,
                               const engine::Product& product, engine::Team& team) {
  const int64_t all = dense.columns + 2 * dense.later_columns;
  const auto sorted = std::make_shared<engine::Buffer>();
  const Tensor weights = sorted->tensor(all, dense.width);
  engine::Buffer biases(all);
  std::vector<engine::Linear::Part> parts;
  int64_t first = 0;
  for (const std::string& name : dense.names) {
    const int64_t columns = first == 0 ? dense.columns : dense.later_columns;
    const Weight weight = checkpoint.matrix(name + ".weight", columns, dense.width);
    const engine::Buffer bias =
        dense.has_bias ? checkpoint.vector(name + ".bias", columns) : engine::Buffer(columns);
    const bool is_value = name == dense.names.back();
    for (int64_t row = 0; row < columns; ++row) {
      const int64_t to = first + (is_value ? row : half_split(row, width));
      std::copy_n(weight.view.row(row), dense.width, weights.row(to));
      biases.data()[to] = bias.data()[row];
    }
    parts.push_back(
        {{weights.row(first), columns, dense.width}, biases.data() + first, weight.description()});
    Checkpoint::release(weight);
    first += columns;
  }
  return engine::Linear(team, parts, Activation::none, product, sorted);
}

}  // namespace

engine::Linear read_qkv(Checkpoint& checkpoint, const std::string& layer, const LayerNames& names,
                        const Config& config, const Config::HeadShape& heads,
                        const engine::Product& product, engine::Team& team) {
  const DenseNames dense = qkv_names(checkpoint, layer, names, config, heads);
  // In int8, they are already sorted, with biases for all three, beside which the files have
  // theirs.
  const bool is_int8 = checkpoint.is_int8(dense.names.front());
  if (is_int8) read_own_biases(checkpoint, layer, names, config.hidden);
  if (names.qkv_by_heads && !is_int8) {
    return read_stacked_heads(checkpoint, layer, dense, config, product, team);
  }
  if (names.rotates_neighbours && !is_int8) {
    return read_neighbours(checkpoint, dense, heads.size, product, team);
  }
  return read_linear(checkpoint, dense, Activation::none, product, team);
}

}  // namespace bert::models
