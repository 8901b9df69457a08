// SPDX-License-Identifier: Apache-2.0
#include "models/network/heads.h"

#include <algorithm>
#include <cmath>

#include "models/network/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::ConstTensor;
using engine::Tensor;

Pooler::Pooler(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
               engine::Team& team)
    : dense(read_linear(checkpoint, {{config.family->pooler}, config.hidden, config.hidden},
                        Activation::tanh, f32, team)) {}

Tensor Pooler::run(engine::Team& team, ConstTensor first, Workspace& space) const {
  const Tensor pooled = space.pooled.tensor(first.rows, first.columns);
  dense.run(team, first, space.scratch, pooled);
  return pooled;
}

Head::Head(Checkpoint& checkpoint, const Config& config, const HeadRow& head_row,
           const Embeddings& embeddings, const engine::Product& f32, engine::Team& team)
    : row(head_row), product(f32) {
  const bool masked_lm = row.kind == HeadKind::masked_lm;
  const int64_t width = masked_lm ? config.embedding : config.hidden;
  if (*row.transform) {
    transform.emplace(read_linear(checkpoint,
                                  {{row.transform}, width, config.hidden, config.has_bias.head},
                                  config.head_activations.at(&row), f32, team));
  }
  if (*row.norm) norm.emplace(read_norm(checkpoint, row.norm, width, config));
  const std::string name = row.output;
  if (!masked_lm) {
    output.emplace(read_linear(checkpoint,
                               {{name}, std::ssize(config.labels_of(row)), config.hidden},
                               Activation::none, f32, team));
    return;
  }
  own_decoder = read_decoder(checkpoint, config, name, embeddings.word);
  decoder = config.tied ? embeddings.word.view : own_decoder.view;
  decoder_bias = read_decoder_bias(checkpoint, config, name + ".bias", row.bias);
}

Tensor Head::run(engine::Team& team, ConstTensor x, Workspace& space) const {
  if (transform) {
    const Tensor transformed = space.transformed.tensor(x.rows, transform->columns());
    transform->run(team, x, space.scratch, transformed);
    if (norm) engine::layer_norm(team, transformed, *norm, transformed);
    x = transformed;
  }
  const Tensor logits = space.logits.tensor(x.rows, columns());
  if (output) {
    output->run(team, x, space.scratch, logits);
  } else {
    engine::multiply_in_place(team, product, x, decoder, decoder_bias.data(), logits);
  }
  return logits;
}

Tensor mean_rows(const Batch& batch, ConstTensor x, engine::Team& team, Workspace& space) {
  const Tensor mean = space.rows.tensor(batch.sequences(), x.columns);
  team.run(mean.rows, [&](int64_t i, int) {
    const int32_t begin = batch.starts[i], end = batch.starts[i + 1];
    float* row = mean.row(i);
    std::copy_n(x.row(begin), x.columns, row);
    for (int64_t t = begin + 1; t < end; ++t) {
      for (int64_t j = 0; j < x.columns; ++j) row[j] += x.row(t)[j];
    }
    for (int64_t j = 0; j < x.columns; ++j) row[j] /= static_cast<float>(end - begin);
  });
  return mean;
}

void Head::run_in_parts(engine::Team& team, ConstTensor x, Workspace& space,
                        const Part& body) const {
  constexpr int64_t kMostLogits = int64_t{1} << 25;
  const int64_t rows = std::max<int64_t>(1, kMostLogits / columns());
  for (int64_t first = 0; first < x.rows; first += rows) {
    body(first, run(team, {x.row(first), std::min(rows, x.rows - first), x.columns}, space));
  }
}

std::vector<float> softmax(std::span<const float> logits) {
  std::vector<float> result(logits.begin(), logits.end());
  const float max = *std::ranges::max_element(result);
  double sum = 0;
  for (float& value : result) sum += value = std::exp(value - max);
  for (float& value : result) value = static_cast<float>(value / sum);
  return result;
}

}  // namespace bert::models
