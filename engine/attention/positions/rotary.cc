// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/rotary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/profile.h"
#include "engine/rows/rows.h"

namespace bert::engine {

Rotary::Rotary(std::vector<float> frequencies, int64_t positions)
    : frequencies_(std::move(frequencies)),
      tables_(std::make_unique<Table[]>((positions + kPositions - 1) / kPositions)) {}

const Rotary::Table& Rotary::table(int64_t index) const {
  Table& table = tables_[index];
  std::call_once(table.once, [&] {
    const int64_t half = std::ssize(frequencies_);
    table.cosines.resize_discarding(kPositions * half);
    table.sines.resize_discarding(kPositions * half);
    for (int64_t i = 0; i < kPositions; ++i) {
      const auto position = static_cast<float>(index * kPositions + i);
      for (int64_t d = 0; d < half; ++d) {
        const double angle = position * frequencies_[d];
        table.cosines.data()[i * half + d] = static_cast<float>(std::cos(angle));
        table.sines.data()[i * half + d] = static_cast<float>(std::sin(angle));
      }
    }
  });
  return table;
}

void Rotary::run(Team& team, std::span<const int32_t> starts, int heads, Tensor qkv) const {
  const Timed timed(Step::attention);
  const int64_t half = std::ssize(frequencies_);
  for_row_blocks(team, qkv.rows, [&](int64_t begin, int64_t end) {
    // The first sequence that ends after row `begin`.
    auto sequence = std::ranges::upper_bound(starts, begin) - starts.begin();
    for (int64_t t = begin; t < end; ++t) {
      while (starts[sequence] <= t) ++sequence;
      const int64_t position = t - starts[sequence - 1];
      const Table& of = table(position / kPositions);
      const float* cosines = of.cosines.data() + position % kPositions * half;
      const float* sines = of.sines.data() + position % kPositions * half;
      float* x = qkv.row(t);
      for (int head = 0; head < heads; ++head, x += 2 * half) {
        float* y = x + half;
        for (int64_t d = 0; d < half; ++d) {
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
