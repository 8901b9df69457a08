// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "engine/dense/linear.h"
#include "models/config/sentence_settings.h"

namespace bert::models {

// A Dense module of sentence-transformers: activation(W x + b), to which its input may be added.
struct DenseModule {
  // y [rows, columns] must not be x [rows, width].
  void run(engine::Team& team, engine::ConstTensor x, engine::Buffer& scratch,
           engine::Tensor y) const;

  engine::Linear linear;
  bool adds_input = false;
  std::optional<engine::Linear> residual = {};  // what it is multiplied with before
};

// From the weights in the module's folder: linear.weight [columns, width], linear.bias [columns]
// and residual.weight [columns, width], as the settings say. Nothing else may be there.
DenseModule read_dense_module(const SentenceModules::Dense& dense, const engine::Product& f32,
                              engine::Team& team);

// weight [columns, width] and bias [columns], alone in a file of PyTorch's; any number of columns
// if none is given.
engine::Linear read_linear_file(const std::string& path, int64_t width,
                                std::optional<int64_t> columns, const engine::Product& f32,
                                engine::Team& team);

}  // namespace bert::models
