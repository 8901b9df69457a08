// SPDX-License-Identifier: Apache-2.0
#include "models/network/extraction/lstm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/rows/rows.h"

namespace bert::models {

using engine::Tensor;

namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// A step of S cells. gates [4 S]: of input, forget, cell and output. more [4 S]: what is added to
// them, or null.
void step(const float* gates, const float* more, int64_t size, float* cell, float* hidden) {
  for (int64_t j = 0; j < size; ++j) {
    const auto gate = [&](int64_t i) {
      return gates[i * size + j] + (more ? more[i * size + j] : 0);
    };
    cell[j] = sigmoid(gate(1)) * cell[j] + sigmoid(gate(0)) * std::tanh(gate(2));
    hidden[j] = sigmoid(gate(3)) * std::tanh(cell[j]);
  }
}

engine::Linear pack(const Weight& weight, const engine::Buffer& bias, const engine::Product& f32,
                    engine::Team& team) {
  const engine::Linear::Part part{weight.view, bias.data(), weight.description()};
  return {team, {&part, 1}, engine::Activation::none, f32};
}

// The sequences, the longest first.
std::vector<size_t> by_length(std::span<const int32_t> starts) {
  std::vector<size_t> order(starts.size() - 1);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t i) { return starts[i + 1] - starts[i]; });
  return order;
}

}  // namespace

Lstm::Direction Lstm::read(Checkpoint& checkpoint, const std::string& name,
                           const std::string& ending, int64_t width, const engine::Product& f32,
                           engine::Team& team) {
  const auto full = [&](const char* part) { return fmt::format("{}.{}_{}", name, part, ending); };
  const int64_t size = width / 2, gates = 4 * size;
  const Weight inputs = checkpoint.matrix(full("weight_ih"), gates, width);
  const Weight recurrent = checkpoint.matrix(full("weight_hh"), gates, size);
  const engine::Buffer bias = checkpoint.vector(full("bias_ih"), gates);
  const engine::Buffer more = checkpoint.vector(full("bias_hh"), gates), none(gates);
  for (int64_t i = 0; i < gates; ++i) bias.data()[i] += more.data()[i];
  return {pack(inputs, bias, f32, team), pack(recurrent, none, f32, team)};
}

Lstm::Lstm(Checkpoint& checkpoint, const std::string& name, int64_t layers, int64_t width,
           const engine::Product& f32, engine::Team& team) {
  for (int64_t i = 0; i < layers; ++i) {
    const auto direction = [&](const char* which) {
      return read(checkpoint, name, fmt::format("l{}{}", i, which), width, f32, team);
    };
    layers_.push_back({direction(""), direction("_reverse")});
  }
}

// The sequences take each step together, as long as they last.
void Lstm::run(const Layer& layer, std::span<const int32_t> starts, engine::Team& team,
               Tensor x) const {
  const std::vector<size_t> order = by_length(starts);
  const auto sequences = std::ssize(order);
  const auto length = [&](int64_t i) { return starts[order[i] + 1] - starts[order[i]]; };
  const int64_t size = x.columns / 2;
  engine::Buffer gates, cells(sequences * size), states(sequences * size), more, scratch;
  for (const bool backwards : {false, true}) {
    const Direction& direction = backwards ? layer.backward : layer.forward;
    const Tensor inputs = gates.tensor(2 * x.rows, 4 * size);
    direction.inputs.run(team, x, scratch, {inputs.row(backwards ? x.rows : 0), x.rows, 4 * size});
  }
  for (const bool backwards : {false, true}) {
    const Direction& direction = backwards ? layer.backward : layer.forward;
    std::fill_n(cells.data(), cells.size(), 0.0f);
    const float* all = gates.data() + (backwards ? x.rows * 4 * size : 0);
    int64_t running = sequences;
    for (int32_t t = 0;; ++t) {
      while (running > 0 && length(running - 1) <= t) --running;
      if (running == 0) break;
      const Tensor products = more.tensor(running, 4 * size);
      if (t > 0) {
        direction.recurrent.run(team, {states.data(), running, size}, scratch, products);
      }
      for (int64_t i = 0; i < running; ++i) {
        const int32_t row = starts[order[i]] + (backwards ? length(i) - 1 - t : t);
        float* const hidden = states.data() + i * size;
        step(all + row * 4 * size, t > 0 ? products.row(i) : nullptr, size, cells.data() + i * size,
             hidden);
        std::copy_n(hidden, size, x.row(row) + (backwards ? size : 0));
      }
    }
  }
}

void Lstm::run(std::span<const int32_t> starts, engine::Team& team, Tensor x) const {
  for (const Layer& layer : layers_) run(layer, starts, team, x);
}

}  // namespace bert::models
