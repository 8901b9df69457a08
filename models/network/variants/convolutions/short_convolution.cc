// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/convolutions/short_convolution.h"

#include <algorithm>

#include "engine/rows/rows.h"

namespace bert::models {

using engine::ConstTensor;
using engine::Tensor;

ShortConvolution::ShortConvolution(Checkpoint& checkpoint, const std::string& layer,
                                   const Config& config)
    : taps_(config.short_convolutions.taps),
      before_(config.short_convolutions.is_causal ? taps_ - 1 : taps_ / 2),
      weights_(taps_ * config.hidden) {
  const int64_t hidden = config.hidden;
  const engine::Buffer stored = checkpoint.values(
      layer + config.family->convolution_layer->convolution + ".weight", {hidden, 1, taps_});
  for (int64_t i = 0; i < taps_ * hidden; ++i) {
    weights_.data()[i % taps_ * hidden + i / taps_] = stored.data()[i];
  }
}

void ShortConvolution::run(engine::Team& team, ConstTensor states, std::span<const int32_t> starts,
                           const engine::AttentionOptions& options, Tensor context) const {
  const bool all = options.reads == engine::Reads::all;
  const int64_t hidden = context.columns;
  engine::for_row_blocks(team, context.rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t sequence =
          all ? std::upper_bound(starts.begin(), starts.end(), row) - starts.begin() - 1 : row;
      const int64_t first = starts[sequence], t = all ? row - first : 0;
      const int64_t length = options.attended.empty() ? starts[sequence + 1] - first
                                                      : int64_t{options.attended[sequence]};
      float* const to = context.row(row);
      std::fill_n(to, hidden, 0.0f);
      if (t < length) convolve({states.row(first), length, states.columns}, t, hidden, to);
    }
  });
}

void ShortConvolution::convolve(ConstTensor states, int64_t t, int64_t hidden, float* to) const {
  for (int64_t tap = 0; tap < taps_; ++tap) {
    const int64_t from = t - before_ + tap;
    if (from < 0 || from >= states.rows) continue;
    const float *in = states.row(from), *values = in + 2 * hidden;
    const float* weights = weights_.data() + tap * hidden;
    for (int64_t j = 0; j < hidden; ++j) to[j] += weights[j] * (in[j] * values[j]);
  }
  const float* const out = states.row(t) + hidden;
  for (int64_t j = 0; j < hidden; ++j) to[j] *= out[j];
}

}  // namespace bert::models
