// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/tensor.h"

namespace bert::engine {

void require_finite(ConstTensor values, std::string_view what) {
  for (int64_t i = 0; i < values.rows; ++i) {
    const std::span<const float> row(values.row(i), static_cast<size_t>(values.columns));
    if (all_finite(row)) continue;
    const auto found = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
    throw std::runtime_error(
        fmt::format("{}[{}{}] is {}, expected a finite number", what,
                    values.rows > 1 ? fmt::format("{}, ", i) : "", found - row.begin(),
                    std::isnan(*found) ? std::fabs(*found) : *found));  // whatever the NaN's sign
  }
}

}  // namespace bert::engine
