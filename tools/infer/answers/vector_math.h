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

inline float cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, a_squared = 0, b_squared = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    product += x * y;
    a_squared += x * x;
    b_squared += y * y;
  }
  return static_cast<float>(product / std::sqrt(std::max(a_squared * b_squared, 1e-60)));
}

}  // namespace bert::tools
