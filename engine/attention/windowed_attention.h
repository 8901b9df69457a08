// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/attention.h"

namespace bert::engine {

// attention() where a token attends only to options.window tokens before it and after it (Beltagy
// et al. 2020), at the cost of these. Without a bias by distance.
void windowed_attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
                        const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
