// SPDX-License-Identifier: Apache-2.0
//
// The parts of a model as they are made from a checkpoint's tensors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/attention.h"
#include "engine/dense/linear.h"
#include "engine/rows.h"
#include "models/config/config.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Dense layers name.weight [columns, width] and name.bias [columns], for each name, as one. Where
// they are stored in int8 they stay so, whatever the precision.
engine::Linear read_linear(Checkpoint& checkpoint, const std::vector<std::string>& names,
                           int64_t columns, int64_t width, engine::Activation activation,
                           engine::Precision precision, engine::ThreadPool& pool);
// name.weight and name.bias [width]
engine::Norm read_norm(Checkpoint& checkpoint, const std::string& name, int64_t width,
                       const Config& config);

// [positions, E] and [types, E]; one row of zeros where the model adds nothing.
Weight read_position_table(Checkpoint& checkpoint, const Config& config);
Weight read_type_table(Checkpoint& checkpoint, const Config& config);
// [H, E] or none.
std::optional<engine::Linear> read_projection(Checkpoint& checkpoint, const Config& config,
                                              engine::ThreadPool& pool);

// What attention adds to the scores by distance: of the whole encoder, or of a layer. Or none.
std::unique_ptr<engine::RelativeBias> read_relative_bias(Checkpoint& checkpoint,
                                                         const Config& config);
std::optional<engine::RelativeKeys> read_relative_keys(Checkpoint& checkpoint,
                                                       const std::string& layer,
                                                       const Config& config,
                                                       engine::ThreadPool& pool);

}  // namespace bert::models
