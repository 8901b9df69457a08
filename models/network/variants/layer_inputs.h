// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/variants/dense_layer.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// What a layer of EmbeddingGemma 2 reads from the embeddings, besides the hidden state, after its
// feed-forward network ("per-layer embeddings"):
//   y = norm(output(activation(gate(x)) * norm(projection(embeddings))))
//   x = factor (x + y)
class LayerInputs {
 public:
  LayerInputs(Checkpoint& checkpoint, const std::string& layer, size_t number, const Config& config,
              const engine::Product& product, engine::Team& team);

  // All layers share the name of the first, of which each has some columns.
  std::vector<DenseLayer> dense_layers(const std::string& layer) const;

  // Changes x [T, H]. embeddings: [T, H], of the same tokens. wide, normed, scratch: memory for the
  // call. before: as for experts.
  void run_add(engine::Team& team, const engine::Buffer& embeddings, engine::Buffer& wide,
               engine::Buffer& normed, engine::Buffer& scratch, engine::Tensor x,
               const BeforeProduct& before) const;

 private:
  engine::Linear projection_, gate_, output_;  // [P, H], [P, H] with the activation, [H, P]
  engine::Norm projection_norm_, output_norm_;
  float factor_;
};

}  // namespace bert::models
