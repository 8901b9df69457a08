// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/tensor.h"

namespace bert::models {

// Products as bert-convert writes them: their columns follow each other under these names. In a
// checkpoint with floats, they may be parts of other tensors.
struct DenseLayer {
  std::vector<std::string> names;
  std::vector<const engine::Linear*> linears;
};

// Called with a product's inputs just before it runs.
using BeforeProduct = std::function<void(const engine::Linear& product, engine::Tensor inputs)>;

}  // namespace bert::models
