// SPDX-License-Identifier: Apache-2.0
//
// The decoder of BART (Lewis et al. 2020), which runs once over the whole input: no text is
// generated. Its layers are the encoder's with causal attention and cross-attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/batch.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

struct Embeddings;

// Attention to the encoder's output (Vaswani et al. 2017, section 3.2.3).
struct CrossAttention {
  CrossAttention(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                 const engine::Product& product, engine::Team& team);

  void prefetch_in_turn(const engine::Linear& next);

  engine::Linear query, key_value, output;  // [H, H], [2H, H], [H, H]
  engine::Norm norm;                        // after it, and what it is added to
};

// What comes before the decoder's first layer.
class Decoder {
 public:
  Decoder(Checkpoint& checkpoint, const Config& config);

  // x [T, H] = LayerNorm of the sum of the word and position embeddings of the decoder's tokens: in
  // each sequence the start token, then the encoder's tokens but the last.
  void embed(const Batch& batch, const Embeddings& of_encoder, engine::Team& team,
             engine::Tensor x) const;

  const size_t first_layer;  // in the order in which layers run

 private:
  int start_token_;
  Weight position_;  // [positions, H]
  engine::Norm norm_;
};

}  // namespace bert::models
