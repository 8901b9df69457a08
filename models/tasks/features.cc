// SPDX-License-Identifier: Apache-2.0
//
// What the model computes for each token: hidden states of any layer, attention, a head's logits.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/tasks/logits.h"

namespace bert {
namespace {

using engine::Tensor;
using models::Batch;
using models::guarded;
using Order = std::vector<int64_t>;

// Layer indices as 0 to count - 1; negative ones count from the end.
std::vector<int> resolve_layers(std::span<const int> layers, int count, const char* what) {
  std::vector<int> resolved;
  for (const int layer : layers) {
    if (layer < -count || layer >= count) {
      throw Error(fmt::format("layer {} of the {}, expected one from {} to {}", layer, what, -count,
                              count - 1));
    }
    resolved.push_back(layer < 0 ? layer + count : layer);
  }
  return resolved;
}

Output copy_rows(engine::ConstTensor x, int64_t begin, int64_t end) {
  Output output(end - begin, x.columns);
  if (begin < end) std::copy_n(x.row(begin), x.columns * (end - begin), output.values.data());
  return output;
}

}  // namespace

std::vector<Output> Model::Impl::run_tokens(std::span<const Encoding> encodings,
                                            const InputOf& input_of) const {
  if (!token_head) refuse_head("each token");
  std::vector<Output> output(encodings.size());
  for_batches(
      encodings, engine::Reads::all,
      [&](const Batch& batch, const Order& order, Tensor x, engine::Team& team, Workspace& space) {
        for (int64_t i = 0; i < batch.sequences(); ++i) {
          output[order[i]] = {batch.starts[i + 1] - batch.starts[i], token_head->columns()};
        }
        int64_t i = 0;  // sequence
        const auto copy = [&](int64_t first, engine::ConstTensor logits) {
          for (int64_t row = 0; row < logits.rows; ++row) {
            const int64_t token = first + row;
            while (token == batch.starts[i + 1]) ++i;
            std::copy_n(logits.row(row), logits.columns,
                        output[order[i]].row(token - batch.starts[i]).data());
          }
        };
        models::run_in_parts(*token_head, team, x, space, copy);
        for (const int64_t each : order) check_answer(input_of(each), output[each].values);
      },
      input_of);
  return output;
}

std::vector<Hidden> Model::Impl::hidden(std::span<const Encoding> encodings,
                                        std::span<const int> layers) const {
  const std::vector<int> wanted = resolve_layers(layers, config.layers + 1, "hidden states");
  std::vector<Hidden> output(encodings.size());
  for (Hidden& hidden : output) hidden.layers.resize(wanted.size());
  for_batches(
      encodings, engine::Reads::all,
      [&](const Batch& batch, const Order& order, Tensor x, engine::Team& team, Workspace& space) {
        Tensor pooled;
        if (pooler) pooled = pooler->run(team, models::first_rows(batch, x, space), space);
        for (int64_t i = 0; i < batch.sequences(); ++i) {
          Hidden& hidden = output[order[i]];
          hidden.states = copy_rows(x, batch.starts[i], batch.starts[i + 1]);
          check_answer(order[i], hidden.states.values);
          if (pooler) hidden.pooler = copy_rows(pooled, i, i + 1).values;
        }
      },
      [&](const Batch& batch, const Order& order) {
        if (wanted.empty()) return models::Trace();
        return models::Trace{
            [&](std::string_view stage, const float* values, int64_t rows, int64_t columns) {
              for (size_t j = 0; j < wanted.size(); ++j) {
                const std::string name =
                    wanted[j] == 0 ? "embeddings" : fmt::format("layer.{}", wanted[j] - 1);
                if (stage != name) continue;
                const engine::ConstTensor x = {values, rows, columns};
                for (int64_t i = 0; i < batch.sequences(); ++i) {
                  output[order[i]].layers[j] = copy_rows(x, batch.starts[i], batch.starts[i + 1]);
                }
              }
            }};
      });
  return output;
}

std::vector<Attention> Model::Impl::attention(std::span<const Encoding> encodings,
                                              std::span<const int> layers) const {
  const std::vector<int> wanted = resolve_layers(layers, config.layers, "attention");
  for (const int layer : wanted) {
    if (!config.short_convolutions.are_in(layer)) continue;
    throw Error(fmt::format("attention: layer {} has none, but a convolution", layer));
  }
  for (size_t i = 0; i < encodings.size(); ++i) {
    if (encodings[i].unattended == 0) continue;
    throw Error(fmt::format("input {}: unattended is {}, expected 0 for attention()", i,
                            encodings[i].unattended));
  }
  std::vector<Attention> output(encodings.size());
  for (Attention& attention : output) attention.layers.resize(wanted.size());
  for_batches(
      encodings, engine::Reads::all,
      [&](const Batch& batch, const Order& order, Tensor x, engine::Team&, Workspace&) {
        for (int64_t i = 0; i < batch.sequences(); ++i) {
          const int64_t begin = batch.starts[i], rows = batch.starts[i + 1] - begin;
          check_answer(order[i], {x.row(begin), static_cast<size_t>(rows * x.columns)});
        }
      },
      [&](const Batch& batch, const Order& order) {
        models::Trace trace{
            [&](std::string_view stage, const float* values, int64_t, int64_t) {
              for (size_t j = 0; j < wanted.size(); ++j) {
                if (stage != fmt::format("attention.{}", wanted[j])) continue;
                const float* next = values;
                for (int64_t i = 0; i < batch.sequences(); ++i) {
                  const int64_t length = batch.starts[i + 1] - batch.starts[i];
                  Output& rows = output[order[i]].layers[j] = {config.heads * length, length};
                  std::copy_n(next, std::ssize(rows.values), rows.values.data());
                  next += std::ssize(rows.values);
                }
              }
            },
            std::vector<bool>(config.layers)};
        for (const int layer : wanted) trace.attention[layer] = true;
        return trace;
      });
  return output;
}

std::vector<Output> Model::run_tokens(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->run_tokens(encodings); });
}
std::vector<Output> Model::run_tokens(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->run_tokens(impl_->tokenize(inputs)); });
}
std::vector<Hidden> Model::hidden(std::span<const Encoding> encodings,
                                  std::span<const int> layers) const {
  return guarded([&] { return impl_->hidden(encodings, layers); });
}
std::vector<Hidden> Model::hidden(std::span<const Input> inputs,
                                  std::span<const int> layers) const {
  return guarded([&] { return impl_->hidden(impl_->tokenize(inputs), layers); });
}
std::vector<Attention> Model::attention(std::span<const Encoding> encodings,
                                        std::span<const int> layers) const {
  return guarded([&] { return impl_->attention(encodings, layers); });
}
std::vector<Attention> Model::attention(std::span<const Input> inputs,
                                        std::span<const int> layers) const {
  return guarded([&] { return impl_->attention(impl_->tokenize(inputs), layers); });
}

}  // namespace bert
