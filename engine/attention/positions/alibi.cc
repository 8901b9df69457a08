// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/alibi.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace bert::engine {
namespace {

// 2^(-8 (i + 1) / n) if the number of heads n is a power of two. Otherwise the slopes of the power
// of two p below n, followed by the first, third, fifth … slope of 2p.
double slope(int head, int heads) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  const int of = head < power ? power : 2 * power;
  const int i = head < power ? head : 2 * (head - power);
  return std::exp2(-8.0 * (i + 1) / of);
}

}  // namespace

RelativeBias linear_biases(int heads, int64_t head_width, int64_t max_tokens) {
  RelativeBias bias;
  bias.max_tokens = max_tokens;
  const int64_t width = 2 * max_tokens - 1;
  bias.values.resize_discarding(heads * width);
  const double unscaled = std::sqrt(static_cast<double>(head_width));
  for (int head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < width; ++i) {
      const auto distance = static_cast<double>(std::abs(i - (max_tokens - 1)));
      bias.values.data()[head * width + i] =
          static_cast<float>(-slope(head, heads) * distance * unscaled);
    }
  }
  return bias;
}

}  // namespace bert::engine
