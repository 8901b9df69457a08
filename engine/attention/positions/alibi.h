// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/attention/positions/relative_positions.h"

namespace bert::engine {

// Attention with linear biases (Press et al. 2022) for an encoder: -slope |i - j| is added to each
// head's scaled scores. head_width: D, for the scale 1 / sqrt D.
RelativeBias linear_biases(int heads, int64_t head_width, int64_t max_tokens);

}  // namespace bert::engine
