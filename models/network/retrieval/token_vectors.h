// SPDX-License-Identifier: Apache-2.0
//
// A vector for each token, for late interaction.
#pragma once

#include <vector>

#include "models/config/retrieval/retrieval_settings.h"
#include "models/network/bert.h"
#include "models/network/retrieval/dense_module.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

class TokenVectors {
 public:
  TokenVectors(const TokenSettings& settings, const Config& config, Checkpoint& checkpoint,
               const engine::Product& f32, engine::Team& team);

  int64_t columns() const { return columns_; }  // D
  // [T, D] in the workspace. x: the last hidden state [T, H].
  engine::Tensor run(engine::Team& team, engine::ConstTensor x, Workspace& space) const;

 private:
  std::vector<DenseModule> dense_;
  bool normalizes_;
  int64_t columns_;
};

}  // namespace bert::models
