// SPDX-License-Identifier: Apache-2.0
#include "models/network/pooling.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::ConstTensor;
using engine::Tensor;

namespace {

const char* pooling_name(Pooling pooling) {
  switch (pooling) {
    case Pooling::cls:
      return "cls";
    case Pooling::max:
      return "max";
    case Pooling::mean:
      return "mean";
    case Pooling::mean_sqrt_len:
      return "mean over square root of length";
    case Pooling::weighted_mean:
      return "weighted mean";
    case Pooling::last:
      return "last";
    case Pooling::end:
      break;
  }
  return "end of text";
}

// What the sum of a sequence's rows is divided by.
float divisor(Pooling pooling, int64_t tokens) {
  const auto n = static_cast<float>(tokens);
  if (pooling == Pooling::mean) return n;
  return pooling == Pooling::mean_sqrt_len ? std::sqrt(n) : n * (n + 1) / 2;
}

// Pools rows [begin, end) of x into y [H].
void pool_rows(Pooling pooling, ConstTensor x, int64_t begin, int64_t end, float* y) {
  std::copy_n(x.row(pooling == Pooling::last ? end - 1 : begin), x.columns, y);
  if (pooling == Pooling::cls || pooling == Pooling::last || pooling == Pooling::end) return;
  for (int64_t t = begin + 1; t < end; ++t) {
    const float* row = x.row(t);
    const float weight =
        pooling == Pooling::weighted_mean ? static_cast<float>(t - begin + 1) : 1.0f;
    for (int64_t j = 0; j < x.columns; ++j) {
      y[j] = pooling == Pooling::max ? std::max(y[j], row[j]) : y[j] + weight * row[j];
    }
  }
  if (pooling == Pooling::max) return;
  const float by = divisor(pooling, end - begin);
  for (int64_t j = 0; j < x.columns; ++j) y[j] /= by;
}

// The row of a sequence's first token `end`, or if that is -1 of the first of the highest. As in
// transformers, it is the first row if there is no such token.
int64_t find_end(const Batch& batch, int64_t sequence, int32_t end) {
  const auto first = batch.ids.begin() + batch.starts[sequence],
             last = batch.ids.begin() + batch.starts[sequence + 1];
  const auto found = end < 0 ? std::max_element(first, last) : std::find(first, last, end);
  return (found == last ? first : found) - batch.ids.begin();
}

// As transformers does it: the first row if there is no such token.
Tensor last_rows(const Config& config, const Batch& batch, ConstTensor x, Workspace& space) {
  const auto is_read = [&](int32_t id) {
    return config.end_token < 0 ? id != config.pad_token : id == config.end_token;
  };
  const Tensor last = space.rows.tensor(batch.sequences(), x.columns);
  for (int64_t i = 0; i < last.rows; ++i) {
    int32_t token = batch.starts[i + 1] - 1;
    while (token > batch.starts[i] && !is_read(batch.ids[token])) --token;
    std::copy_n(x.row(token), x.columns, last.row(i));
  }
  return last;
}

// As Perplexity's FlexibleQuantizer does by default. Halves are rounded to even numbers.
void round_rows(Tensor y) {
  for (int64_t i = 0; i < y.rows; ++i) {
    for (float& value : std::span(y.row(i), y.columns)) {
      value = std::nearbyint(127 * std::tanh(value));
    }
  }
}

}  // namespace

void normalize_rows(Tensor y) {
  for (int64_t i = 0; i < y.rows; ++i) {
    float* row = y.row(i);
    double squares = 0;
    for (int64_t j = 0; j < y.columns; ++j) squares += static_cast<double>(row[j]) * row[j];
    // Like torch.nn.functional.normalize, leaves a zero vector zero.
    const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (int64_t j = 0; j < y.columns; ++j) row[j] /= length;
  }
}

Tensor first_rows(const Batch& batch, ConstTensor x, Workspace& space) {
  const Tensor first = space.rows.tensor(batch.sequences(), x.columns);
  for (int64_t i = 0; i < first.rows; ++i) {
    std::copy_n(x.row(batch.starts[i]), x.columns, first.row(i));
  }
  return first;
}

Tensor classified_rows(const Config& config, Config::ClassifierPooling pooling, const Batch& batch,
                       Tensor x, engine::Team& team, Workspace& space) {
  using enum Config::ClassifierPooling;
  if (pooling == mean) return mean_rows(batch, x, team, space);
  if (pooling == last) return last_rows(config, batch, x, space);
  return x.rows == batch.sequences() ? x : first_rows(batch, x, space);
}

Tensor mean_rows(const Batch& batch, ConstTensor x, engine::Team& team, Workspace& space) {
  const Tensor mean = space.rows.tensor(batch.sequences(), x.columns);
  team.run(mean.rows, [&](int64_t i, int) {
    pool_rows(Pooling::mean, x, batch.starts[i], batch.starts[i + 1], mean.row(i));
  });
  return mean;
}

SentenceEmbedding::SentenceEmbedding(SentenceModules modules, Checkpoint& checkpoint,
                                     const engine::Product& f32, engine::Team& team)
    : modules_(std::move(modules)) {
  for (const SentenceModules::Dense& dense : modules_.dense) {
    if (dense.tensor.empty()) {
      dense_.push_back(read_dense_module(dense, f32, team));
      continue;
    }
    const DenseNames names = {{dense.tensor}, dense.columns, dense.width, dense.has_bias};
    dense_.push_back({read_linear(checkpoint, names, dense.activation, f32, team)});
  }
}

std::string SentenceEmbedding::description() const {
  std::string text;
  for (const Pooling pooling : modules_.poolings) {
    text += fmt::format("{}{}", text.empty() ? "" : " and ", pooling_name(pooling));
  }
  for (const auto& dense : modules_.dense) text += fmt::format(", dense to {}", dense.columns);
  if (modules_.normalize) text += ", normalised";
  if (modules_.to_int8) text += ", rounded to int8";
  if (modules_.truncate_to) text += fmt::format(", the first {}", *modules_.truncate_to);
  return text + (modules_.configured ? "" : " (the default: no modules.json names one)");
}

Tensor SentenceEmbedding::run(const Batch& batch, engine::Reads reads, Tensor x, engine::Team& team,
                              Workspace& space) const {
  const bool first = reads == engine::Reads::first;
  Tensor y = space.pooled.tensor(batch.sequences(), x.columns * std::ssize(modules_.poolings));
  team.run(y.rows, [&](int64_t i, int) {
    const int64_t begin = first ? i : batch.starts[i], end = first ? i + 1 : batch.starts[i + 1];
    float* row = y.row(i);
    for (const Pooling pooling : modules_.poolings) {
      const bool at_end = pooling == Pooling::end;
      pool_rows(pooling, x, at_end ? find_end(batch, i, modules_.end_token) : begin, end, row);
      row += x.columns;
    }
  });
  if (!dense_.empty()) y = run_in_turn(dense_, team, y, space);
  if (modules_.normalize) normalize_rows(y);
  if (modules_.to_int8) round_rows(y);
  if (columns() == y.columns) return y;
  const Tensor truncated = {y.data, y.rows, columns()};
  for (int64_t i = 1; i < y.rows; ++i) std::copy_n(y.row(i), columns(), truncated.row(i));
  return truncated;
}

}  // namespace bert::models
