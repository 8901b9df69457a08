// SPDX-License-Identifier: Apache-2.0
//
// Builds a network's parts from tensors, which are checked and packed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/attention.h"
#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "models/config/config.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Throws std::runtime_error if a weight has more inputs than can be multiplied in that precision.
void check_width(const Checkpoint& checkpoint, const std::string& weight, int64_t width,
                 engine::Precision precision);

// The dense layers name.weight [columns, width] and name.bias [columns] of all names, stacked into
// one. Layers stored in int8 stay int8, whatever the product's precision.
struct DenseNames {
  std::vector<std::string> names;
  int64_t columns = 0, width = 0;  // of each
  bool has_bias = true;            // otherwise zeros
  // If count is not 0: only `count` columns of the single name, from `first` on.
  int64_t first = 0, count = 0;
  int64_t later_columns = 0;  // of all names but the first, if different
  float scale = 1;            // of weights and biases, unless they are stored in int8
};
engine::Linear read_linear(Checkpoint& checkpoint, const DenseNames& dense,
                           engine::Activation activation, const engine::Product& product,
                           engine::Team& team);
// A layer's queries, keys and values side by side, from three tensors or one. Where rotary pairs
// are neighbouring columns, queries' and keys' are sorted so that pairs are half a head apart.
engine::Linear read_qkv(Checkpoint& checkpoint, const std::string& layer, const LayerNames& names,
                        const Config& config, const Config::HeadShape& heads,
                        const engine::Product& product, engine::Team& team);
// name.weight and, unless the model's norms have none, name.bias [width]
engine::Norm read_norm(Checkpoint& checkpoint, const std::string& name, int64_t width,
                       const Config& config, bool may_have_bias = true);
engine::Norm unit_norm(int64_t width, const Config& config);  // without weights

// [positions, E] and [types, E], or a single row of zeros if the model has none.
Weight read_position_table(Checkpoint& checkpoint, const Config& config);
Weight read_type_table(Checkpoint& checkpoint, const Config& config);
// [H, E], or nothing if the embeddings already have the hidden size.
std::optional<engine::Linear> read_projection(Checkpoint& checkpoint, const Config& config,
                                              const engine::Product& f32, engine::Team& team);
// [F, H], or nothing if the last hidden state has the hidden size.
std::optional<engine::Linear> read_output_projection(Checkpoint& checkpoint, const Config& config,
                                                     const engine::Product& f32,
                                                     engine::Team& team);

// What attention adds to the scores by distance, if the model does: one bias for all layers, or
// each layer's own keys.
std::unique_ptr<engine::RelativeBias> read_relative_bias(Checkpoint& checkpoint,
                                                         const Config& config);
std::optional<engine::RelativeKeys> read_relative_keys(Checkpoint& checkpoint,
                                                       const std::string& layer,
                                                       const Config& config, engine::Team& team);

// The frequencies of rotary positions, [D / 2]: `computed`, or ESM's stored ones, perhaps rounded.
std::vector<float> read_frequencies(Checkpoint& checkpoint, const Config& config,
                                    const std::vector<float>& computed);

// Disentangled positions: the embeddings of distances [2 span, H], normalised if the model does
// that, or none; and a layer's weights for them.
Weight read_distances(Checkpoint& checkpoint, const Config& config, engine::Team& team);
std::optional<engine::Linear> read_distance_weights(Checkpoint& checkpoint, bool has,
                                                    const std::string& name, bool has_bias,
                                                    const Config& config,
                                                    const engine::Product& f32, engine::Team& team);

// A masked language model's output. transformers ties its weight [V, E] to the word embeddings and
// its bias [V] to that of the head, and writes either or both tensors of each pair, which must be
// equal. If config.json unties them, the decoder has its own; if not, read_decoder returns nothing.
WeightTable read_decoder(Checkpoint& checkpoint, const Config& config, const std::string& name,
                         const WeightTable& words);
engine::Buffer read_decoder_bias(Checkpoint& checkpoint, const Config& config,
                                 const std::string& own, const std::string& tied);

}  // namespace bert::models
