// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/rotary.h"

#include <algorithm>
#include <cmath>

#include "engine/profile.h"
#include "engine/rows/rows.h"

namespace bert::engine {

Rotary::Rotary(std::span<const float> frequencies, int64_t positions)
    : half_(std::ssize(frequencies)), cosines_(positions * half_), sines_(positions * half_) {
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t d = 0; d < half_; ++d) {
      const double angle = static_cast<float>(position) * frequencies[d];
      cosines_.data()[position * half_ + d] = static_cast<float>(std::cos(angle));
      sines_.data()[position * half_ + d] = static_cast<float>(std::sin(angle));
    }
  }
}

void Rotary::run(Team& team, std::span<const int32_t> starts, int heads, Tensor qkv) const {
  const Timed timed(Step::attention);
  for_row_blocks(team, qkv.rows, [&](int64_t begin, int64_t end) {
    // The first sequence that ends after row `begin`.
    auto sequence = std::ranges::upper_bound(starts, begin) - starts.begin();
    for (int64_t t = begin; t < end; ++t) {
      while (starts[sequence] <= t) ++sequence;
      const int64_t position = t - starts[sequence - 1];
      const float* cosines = cosines_.data() + position * half_;
      const float* sines = sines_.data() + position * half_;
      float* x = qkv.row(t);
      for (int head = 0; head < heads; ++head, x += 2 * half_) {
        float* y = x + half_;
        for (int64_t d = 0; d < half_; ++d) {
          const float a = x[d], b = y[d];
          x[d] = a * cosines[d] - b * sines[d];
          y[d] = b * cosines[d] + a * sines[d];
        }
      }
    }
  });
}

std::vector<float> rotary_frequencies(double theta, int64_t width) {
  std::vector<float> frequencies;
  for (int64_t d = 0; d < width / 2; ++d) {
    const float exponent = static_cast<float>(2 * d) / static_cast<float>(width);
    frequencies.push_back(1.0f / static_cast<float>(std::pow(theta, exponent)));
  }
  return frequencies;
}

}  // namespace bert::engine
