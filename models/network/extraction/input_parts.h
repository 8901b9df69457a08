// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// A dense layer over several inputs, end to end, as one product for each of them: name.weight
// [columns, parts * width] becomes `parts` layers [columns, width], of which the first has
// name.bias. Their outputs add up to the layer's.
std::vector<engine::Linear> read_input_parts(Checkpoint& checkpoint, const std::string& name,
                                             int64_t columns, int64_t width, int64_t parts,
                                             const engine::Product& f32, engine::Team& team);

}  // namespace bert::models
