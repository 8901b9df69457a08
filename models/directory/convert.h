// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "models/bert_infer.h"

namespace bert::models {

// Writes the weights of a model's directory as one safetensors file, piece by piece. The encoder's
// dense layers are written in the precision that the model was loaded in, int8 or bf16; all else as
// it is stored. The new file gives the same bits as this model when it is loaded in the same
// precision (auto, for int8). In bf16 it is an ordinary checkpoint; Checkpoint::int8 describes
// int8.
void write_converted(const Model& model, const std::function<void(std::string_view)>& write);

}  // namespace bert::models
