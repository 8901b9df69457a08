// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/batch.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// The convolution of DeBERTa v2 (He et al. 2021, appendix A.5): what neighbouring embeddings add to
// the first layer's output.
struct Convolution {
  Convolution(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
              engine::Team& team);
  // x = LayerNorm(x + activation(convolution of the embeddings)), both [T, H]. rows, scratch:
  // memory for the call; embeddings is overwritten.
  void run(const Batch& batch, engine::Team& team, engine::Tensor embeddings, engine::Buffer& rows,
           engine::Buffer& scratch, engine::Tensor x) const;

  int size;                // in tokens, an odd number
  engine::Linear product;  // [H, size H], the activation fused
  engine::Norm norm;
};
std::optional<Convolution> read_convolution(Checkpoint& checkpoint, const Config& config,
                                            const engine::Product& f32, engine::Team& team);

}  // namespace bert::models
