// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace bert::tools {

// Scales to Euclidean length 1, and returns the length before. What is shorter than `least`, as in
// torch's normalize, stays shorter than 1.
template <typename Number>
double normalize(std::span<Number> values, double least = 1e-12) {
  double squares = 0;
  for (const Number value : values) squares += static_cast<double>(value) * value;
  const double length = std::sqrt(squares);
  for (Number& value : values) value = static_cast<Number>(value / std::max(length, least));
  return length;
}

}  // namespace bert::tools
