// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// A bidirectional LSTM (Hochreiter and Schmidhuber 1997), with PyTorch's gates and names. The
// forward and the backward direction each have S = D / 2 cells.
class Lstm {
 public:
  // name: such as "rnn.lstm". width: D.
  Lstm(Checkpoint& checkpoint, const std::string& name, int64_t layers, int64_t width,
       const engine::Product& f32, engine::Team& team);
  // x [W, D] becomes the last layer's hidden states, the forward direction's before the backward
  // one's. Sequence i owns rows [starts[i], starts[i + 1]).
  void run(std::span<const int32_t> starts, engine::Team& team, engine::Tensor x) const;

 private:
  struct Direction {
    engine::Linear inputs;     // [4 S, D], with both biases
    engine::Linear recurrent;  // [4 S, S]
  };
  struct Layer {
    Direction forward, backward;
  };
  static Direction read(Checkpoint& checkpoint, const std::string& name, const std::string& ending,
                        int64_t width, const engine::Product& f32, engine::Team& team);
  void run(const Layer& layer, std::span<const int32_t> starts, engine::Team& team,
           engine::Tensor x) const;

  std::vector<Layer> layers_;
};

}  // namespace bert::models
