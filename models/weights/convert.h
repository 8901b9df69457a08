// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "engine/kernels/row_kernels.h"
#include "models/bert_infer.h"

namespace bert::models {

// Writes the weights of a model's directory as one safetensors file, piece by piece, with the
// encoder's dense layers in the precision that the model was loaded in, int8 or bf16, and all else
// as it is stored. In that precision, which int8 is without being asked for, what is written gives
// the same bits as this model; bf16 is an ordinary checkpoint, int8 described at Checkpoint::int8.
void write_converted(const Model& model, const std::function<void(std::string_view)>& write);

}  // namespace bert::models
