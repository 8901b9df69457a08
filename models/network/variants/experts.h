// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/variants/dense_layer.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Feed-forward networks, of which each token takes the few that a router scores highest (Shazeer et
// al. 2017), as in nomic-embed-text-v2-moe, or gated ones as in OpenAI's Privacy Filter. The scores
// are a softmax over all networks, without rescaling those of the chosen few to a sum of 1, or over
// the chosen few: see Config::Experts.
class Experts {
 public:
  Experts(Checkpoint& checkpoint, const std::string& layer, const Config& config,
          const engine::Product& product, const engine::Product& f32, engine::Team& team);

  // x [T, H] += the chosen networks' outputs for the inputs [T, H], which may be x, weighted by
  // their scores, and a bias. routed, wide, scratch: memory for the call. int8 products that are
  // not packed yet are quantised for all tokens, as those that choose a network may be few.
  void run_add(engine::Team& team, engine::Buffer& routed, engine::Buffer& wide,
               engine::Buffer& scratch, engine::ConstTensor inputs, engine::Tensor x,
               const BeforeProduct& before) const;

  int64_t chosen() const { return chosen_; }
  int64_t count() const { return std::ssize(networks_); }
  // The products of one network.
  std::vector<const engine::Linear*> products() const { return products_of(networks_.front()); }
  // Of all networks: tensor.0, tensor.1, …
  std::vector<DenseLayer> dense_layers(const std::string& layer,
                                       const LayerNames::ExpertNames& names) const;

 private:
  struct Network {
    engine::Linear in;                 // [I, H], the activation fused; the gate if gated
    std::optional<engine::Linear> up;  // [I, H]
    engine::Linear out;                // [H, I]
  };
  // A token that chose a network, and the network's score for it.
  struct Place {
    int64_t token;
    float score;
  };
  static std::vector<const engine::Linear*> products_of(const Network& network);
  void read_floats(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                   const engine::Product& product, engine::Team& team);
  void read_int8(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                 const engine::Product& product, engine::Team& team);
  std::vector<std::vector<Place>> choose(engine::ConstTensor scores) const;
  // y [rows, H] = the network's outputs for the inputs.
  void run(const Network& network, engine::Team& team, engine::Buffer& wide,
           engine::Buffer& scratch, engine::Tensor inputs, const BeforeProduct& before,
           engine::Tensor y) const;

  engine::Linear router_;  // [E, H]
  std::vector<Network> networks_;
  engine::Buffer bias_;  // [H]
  int64_t chosen_;
  bool among_chosen_;
  float limit_, most_;  // bounds of `up`, and of the gate's activation
};

}  // namespace bert::models
