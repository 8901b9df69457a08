// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Feed-forward networks, of which each token takes the few that a router scores highest (Shazeer et
// al. 2017), as in nomic-embed-text-v2-moe. The scores are a softmax over all networks; those of
// the chosen few are not rescaled to a sum of 1.
class Experts {
 public:
  Experts(Checkpoint& checkpoint, const std::string& layer, const Config& config,
          const engine::Product& product, const engine::Product& f32, engine::Team& team);

  // Called with a product's inputs just before it runs.
  using BeforeProduct = std::function<void(const engine::Linear& product, engine::Tensor inputs)>;
  // x [T, H] += the chosen networks' outputs, weighted by their scores, and a bias. routed, wide,
  // scratch: memory for the call. int8 products that are not packed yet are quantised for all
  // tokens, as those that choose a network may be few.
  void run_add(engine::Team& team, engine::Buffer& routed, engine::Buffer& wide,
               engine::Buffer& scratch, engine::Tensor x, const BeforeProduct& before) const;

  int64_t chosen() const { return chosen_; }
  const engine::Linear& in() const { return networks_.front().in; }  // of one network
  const engine::Linear& out() const { return networks_.front().out; }
  int64_t count() const { return std::ssize(networks_); }

 private:
  struct Network {
    engine::Linear in, out;  // [I, H], the activation fused, and [H, I]
  };
  // A token that chose a network, and the network's score for it.
  struct Place {
    int64_t token;
    float score;
  };
  std::vector<std::vector<Place>> choose(engine::ConstTensor scores) const;

  engine::Linear router_;  // [E, H]
  std::vector<Network> networks_;
  engine::Buffer bias_;  // [H]
  int64_t chosen_;
};

}  // namespace bert::models
