// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/experts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Tensor;

namespace {

// One network's rows of a tensor [E I, H], or their transpose, without a bias.
engine::Linear read_network(Checkpoint& checkpoint, const std::string& name, int64_t network,
                            bool is_transposed, const Config& config, Activation activation,
                            const engine::Product& product, engine::Team& team) {
  const int64_t wide = config.intermediate, hidden = config.hidden;
  const Weight all = checkpoint.matrix(name, config.experts.count * wide, hidden);
  const auto copy = std::make_shared<engine::Buffer>();
  const Tensor part = is_transposed ? copy->tensor(hidden, wide) : copy->tensor(wide, hidden);
  for (int64_t i = 0; i < wide; ++i) {
    const float* const row = all.view.row(network * wide + i);
    if (is_transposed) {
      for (int64_t j = 0; j < hidden; ++j) part.row(j)[i] = row[j];
    } else {
      std::copy_n(row, hidden, part.row(i));
    }
  }
  const engine::Buffer bias(part.rows);
  const engine::Linear::Part of_linear = {part, bias.data(), all.description()};
  return engine::Linear(team, {&of_linear, 1}, activation, product, copy);
}

}  // namespace

Experts::Experts(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                 const engine::Product& product, const engine::Product& f32, engine::Team& team)
    : router_(read_linear(
          checkpoint, {{layer + ".mlp.router.layer"}, config.experts.count, config.hidden, false},
          Activation::none, f32, team)),
      bias_(checkpoint.vector(layer + ".mlp.experts.bias", config.hidden)),
      chosen_(config.experts.chosen) {
  const auto read = [&](const char* name, int64_t network, bool is_transposed,
                        Activation activation) {
    return read_network(checkpoint, layer + ".mlp.experts.mlp." + name, network, is_transposed,
                        config, activation, product, team);
  };
  for (int64_t network = 0; network < config.experts.count; ++network) {
    networks_.push_back({read("w1", network, false, config.activation),
                         read("w2", network, true, Activation::none)});
    networks_.back().in.set_prefetch_target(networks_.back().out);
  }
}

// For each network, the tokens that take it. Of equal scores, the first network wins.
std::vector<std::vector<Experts::Place>> Experts::choose(engine::ConstTensor scores) const {
  std::vector<std::vector<Place>> places(networks_.size());
  std::vector<std::pair<float, int64_t>> order(networks_.size());  // minus score; network
  for (int64_t token = 0; token < scores.rows; ++token) {
    const float* const row = scores.row(token);
    const float greatest = *std::max_element(row, row + scores.columns);
    float sum = 0;
    for (int64_t i = 0; i < scores.columns; ++i) {
      const float power = std::exp(row[i] - greatest);
      sum += power;
      order[i] = {std::isnan(power) ? -INFINITY : -power, i};
    }
    std::partial_sort(order.begin(), order.begin() + chosen_, order.end());
    for (int64_t k = 0; k < chosen_; ++k) {
      places[order[k].second].push_back({token, -order[k].first / sum});
    }
  }
  return places;
}

void Experts::run_add(engine::Team& team, engine::Buffer& routed, engine::Buffer& wide,
                      engine::Buffer& scratch, Tensor x, const BeforeProduct& before) const {
  const int64_t hidden = x.columns, inside = in().columns();
  float* const memory = routed.tensor(3 * x.rows, std::max(hidden, count())).data;
  const Tensor sum = {memory, x.rows, hidden};
  float* const gathered = memory + sum.size();
  float* const given = gathered + sum.size();  // first the router's scores, then the outputs
  wide.resize_discarding(x.rows * inside);
  const Tensor scores = {given, x.rows, count()};
  router_.run(team, x, scratch, scores);
  const auto places = choose(scores);
  std::fill_n(sum.data, sum.size(), 0.0f);
  for (size_t i = 0; i < networks_.size(); ++i) {
    const auto run = [&, &network = networks_[i]](Tensor inputs) {
      const Tensor inner = {wide.data(), inputs.rows, inside}, outer = {given, inputs.rows, hidden};
      if (!network.in.is_packed()) before(network.in, inputs);
      network.in.run(team, inputs, scratch, inner);
      if (!network.out.is_packed()) before(network.out, inner);
      network.out.run(team, inner, scratch, outer);
      return outer;
    };
    if (!networks_[i].in.is_packed()) run(x);
    const auto& of_network = places[i];
    if (of_network.empty()) continue;
    const Tensor inputs = {gathered, std::ssize(of_network), hidden};
    for (int64_t row = 0; row < inputs.rows; ++row) {
      std::copy_n(x.row(of_network[row].token), hidden, inputs.row(row));
    }
    const Tensor outputs = run(inputs);
    for (int64_t row = 0; row < outputs.rows; ++row) {
      float* const to = sum.row(of_network[row].token);
      const float score = of_network[row].score, *const from = outputs.row(row);
      for (int64_t j = 0; j < hidden; ++j) to[j] += score * from[j];
    }
  }
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t j = 0; j < hidden; ++j) x.row(row)[j] += sum.row(row)[j] + bias_.data()[j];
  }
}

}  // namespace bert::models
