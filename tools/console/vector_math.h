// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace bert::tools {

// Scales to Euclidean length 1.
inline void normalize(std::span<float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  constexpr double kLeast = 1e-12;  // as in torch's normalize
  const double length = std::max(std::sqrt(squares), kLeast);
  for (float& value : values) value = static_cast<float>(value / length);
}

}  // namespace bert::tools
