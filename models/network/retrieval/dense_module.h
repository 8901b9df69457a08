// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "models/config/sentence_settings.h"
#include "models/network/bert.h"

namespace bert::models {

// sentence-transformers' Dense module: activation(W x + b), optionally plus its input.
struct DenseModule {
  // y [rows, columns] must not be x [rows, width].
  void run(engine::Team& team, engine::ConstTensor x, engine::Buffer& scratch,
           engine::Tensor y) const;

  engine::Linear linear;
  bool adds_input = false;
  std::optional<engine::Linear> residual = {};  // what the input is multiplied with first
};

// Runs the modules, at least one, each on the output of the one before, in space.transformed and
// space.pooled. x [rows, width], the first one's input, may be in space.pooled.
engine::Tensor run_in_turn(const std::vector<DenseModule>& modules, engine::Team& team,
                           engine::ConstTensor x, Workspace& space);

// Reads linear.weight [columns, width], linear.bias [columns] and residual.weight [columns, width],
// as the settings say, from the module's folder. Other tensors are errors.
DenseModule read_dense_module(const SentenceModules::Dense& dense, const engine::Product& f32,
                              engine::Team& team);

// Reads weight [columns, width] and bias [columns], alone in a PyTorch file; any number of columns
// if none is given.
engine::Linear read_linear_file(const std::string& path, int64_t width,
                                std::optional<int64_t> columns, const engine::Product& f32,
                                engine::Team& team);

// Reads weight [size], alone in the folder's weights.
engine::Buffer read_table(const std::string& directory, int64_t size);

}  // namespace bert::models
