// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "models/config/config.h"
#include "models/network/variants/dense_layer.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// What surrounds a layer of MobileBERT (Sun et al. 2020, section 3), whose attention and
// feed-forward networks work on a narrower state y [T, N] than the hidden state x [T, H]:
//   y = norm(input x)
//   y = norm(y + attention), with queries and keys of norm(shared x) and values of x
//   y = norm(y + network(y)), several times, of which the last is the layer's own network
//   x = norm(x + output y)
struct Bottleneck {
  Bottleneck(Checkpoint& checkpoint, const std::string& layer, const Config& config,
             const engine::Product& product, engine::Team& team);

  std::vector<DenseLayer> dense_layers(const std::string& layer, const std::string& value) const;
  // Sets which product each one prefetches; the arguments are the layer's own products.
  void prefetch_in_turn(engine::Linear& query_key, engine::Linear& attention_output,
                        engine::Linear& last_intermediate, engine::Linear& last_output);

  struct Network {
    engine::Linear intermediate, output;  // [I, N] with the activation, [N, I]
    engine::Norm norm;
  };
  engine::Linear input, shared, value, output;  // three of [N, H], and [H, N]
  engine::Norm input_norm, shared_norm, output_norm;
  std::vector<Network> networks;  // before the layer's own
};

}  // namespace bert::models
