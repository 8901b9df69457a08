// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/convolutions/convolution.h"

#include <algorithm>

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Tensor;

namespace {

// encoder.conv.conv.weight [H, H, size] as [H, size H]: one product over the rows of `size` tokens.
engine::Linear read_taps(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
                         engine::Team& team) {
  const int64_t hidden = config.hidden, size = config.convolution;
  const engine::Buffer stored =
      checkpoint.values("encoder.conv.conv.weight", {hidden, hidden, size});
  const engine::Buffer bias = checkpoint.vector("encoder.conv.conv.bias", hidden);
  engine::Buffer weight(hidden * size * hidden);
  for (int64_t out = 0; out < hidden; ++out) {
    for (int64_t in = 0; in < hidden; ++in) {
      for (int64_t tap = 0; tap < size; ++tap) {
        weight.data()[(out * size + tap) * hidden + in] =
            stored.data()[(out * hidden + in) * size + tap];
      }
    }
  }
  const engine::Linear::Part part = {{weight.data(), hidden, size * hidden}, bias.data()};
  return engine::Linear(team, {&part, 1}, config.convolution_activation, f32);
}

}  // namespace

Convolution::Convolution(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
                         engine::Team& team)
    : size(config.convolution),
      product(read_taps(checkpoint, config, f32, team)),
      norm(read_norm(checkpoint, "encoder.conv.LayerNorm", config.hidden, config)) {}

void Convolution::run(const Batch& batch, engine::Team& team, Tensor embeddings,
                      engine::Buffer& rows, engine::Buffer& scratch, Tensor x) const {
  const int64_t hidden = x.columns;
  const Tensor taps = rows.tensor(x.rows, size * hidden);
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    for (int64_t t = batch.starts[i]; t < batch.starts[i + 1]; ++t) {
      for (int64_t tap = 0; tap < size; ++tap) {
        const int64_t from = t + tap - size / 2;
        float* to = taps.row(t) + tap * hidden;
        const bool inside = from >= batch.starts[i] && from < batch.starts[i + 1];
        if (inside) {
          std::copy_n(embeddings.row(from), hidden, to);
        } else {
          std::fill_n(to, hidden, 0.0f);
        }
      }
    }
  }
  product.run(team, taps, scratch, embeddings);
  engine::add(team, embeddings, x);
  engine::layer_norm(team, x, norm, x);
}

std::optional<Convolution> read_convolution(Checkpoint& checkpoint, const Config& config,
                                            const engine::Product& f32, engine::Team& team) {
  if (config.convolution == 0) return std::nullopt;
  return Convolution(checkpoint, config, f32, team);
}

}  // namespace bert::models
