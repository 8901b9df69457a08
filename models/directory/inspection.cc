// SPDX-License-Identifier: Apache-2.0
#include "models/directory/inspection.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "models/model_impl.h"

namespace bert::models {

using engine::Tensor;

namespace {

void trace_retrieval(const auto& impl, const Batch& batch, Tensor x, engine::Team& team,
                     Workspace& space, const Trace& trace) {
  const RetrievalParts& parts = impl.retrieval;
  if (parts.sparse) {
    const Head* mlm = impl.token_head ? &*impl.token_head : nullptr;
    parts.sparse->run(batch, x, mlm, impl.config.vocabulary, team, space,
                      [&](int64_t, std::span<float> weights) {
                        trace("sparse", Tensor{weights.data(), 1, std::ssize(weights)});
                      });
  }
  if (parts.token_vectors) trace("vectors", parts.token_vectors->run(team, x, space));
  if (!parts.embeds) return;
  trace("embedding", impl.sentence.run(batch, engine::Reads::all, x, team, space));
}

Output rows_of(const engine::Table& table, const std::vector<int32_t>& rows) {
  Output copy(std::ssize(rows), table.columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const to = copy.row(static_cast<int64_t>(i)).data();
    const float* const from = table.row(rows[i], to);
    if (from != to) std::copy_n(from, table.columns, to);
  }
  return copy;
}

Tensor tensor_of(Output& output) { return {output.values.data(), output.rows, output.columns}; }

std::string kind_of_positions(const Config& config) {
  if (!config.frequencies.empty()) return "rotary";
  return config.position_type == PositionType::alibi ? "linear biases" : "relative";
}

}  // namespace

void run_traced(const Model& model, const Encoding& encoding, const OnStage& on_stage) {
  guarded([&] {
    const auto& impl = Internals::impl(model);
    check_encoding(encoding, 0, impl.config);
    if (impl.sequence_head) check_end(encoding, 0, impl.config);
    const Trace trace{on_stage};
    impl.spaces.use([&](Workspace& space) {
      const int64_t order[] = {0};
      engine::Team team(impl.workers.scheduler());
      const Batch batch = make_batch({&encoding, 1}, order, impl.config);
      const Tensor x = impl.encoder.run(batch, team, engine::Reads::all, space, trace);
      if (impl.pooler) trace("pooler", impl.pooler->run(team, first_rows(batch, x, space), space));
      if (impl.token_head) trace("logits", impl.token_head->run(team, x, space));
      if (impl.sequence_head) {
        trace(impl.token_head ? "next_sentence" : "logits",
              impl.by_sequence(batch, x, team, space));
      }
      trace_retrieval(impl, batch, x, team, space, trace);
    });
  });
}

std::string product_of(const Model& model) {
  return Internals::impl(model).encoder.layers.front().qkv.product().name();
}

std::string adapter_of(const Model& model) { return Internals::impl(model).config.adapter; }

EmbeddingParts embedding_parts(const Model& model, const Encoding& encoding) {
  return guarded([&] {
    const auto& impl = Internals::impl(model);
    check_encoding(encoding, 0, impl.config);
    const int64_t order[] = {0};
    const Batch batch = make_batch({&encoding, 1}, order, impl.config);
    const Embeddings& tables = impl.encoder.embeddings;
    engine::Team team(impl.workers.scheduler());
    EmbeddingParts parts;
    parts.rows = batch.positions;
    if (impl.config.adds_positions) parts.position = rows_of(tables.position.view, batch.positions);
    if (impl.config.types > 0) parts.type = rows_of(tables.type.view, batch.type_ids);
    if (tables.embeds_neighbours) {
      Workspace space;
      parts.normed = parts.word = Output(batch.tokens(), impl.config.hidden);
      tables.join_neighbours(batch, team, space, tensor_of(parts.word));
      tables.run_with_neighbours(batch, team, space, tensor_of(parts.normed));
      return parts;
    }
    parts.word = rows_of(tables.word.view, batch.ids);
    parts.normed = Output(parts.word.rows, parts.word.columns);
    tables.look_up(batch, team, tensor_of(parts.normed));
    parts.projected = tables.projection.has_value();
    return parts;
  });
}

PositionTable position_table(const Model& model) {
  const auto& impl = Internals::impl(model);
  const Config& config = impl.config;
  if (!config.adds_positions) return {.kind = kind_of_positions(config), .rows = {}};
  std::vector<int32_t> rows(static_cast<size_t>(config.positions));
  std::iota(rows.begin(), rows.end(), config.first_position);
  return {.kind = config.sinusoidal ? "sinusoidal" : "learned",
          .rows = rows_of(impl.encoder.embeddings.position.view, rows)};
}

int segments_of(const Model& model) { return Internals::impl(model).config.types; }

bool truncates_left(const Model& model) { return Internals::impl(model).truncates_left(); }

bool normalizes(const Model& model) { return Internals::impl(model).sentence.normalizes(); }

bool marks_spans(const Model& model) {
  return Internals::impl(model).config.by_token.span_tags.has_value();
}

Pass::Pass(const Model& model, std::span<const Encoding> encodings) : model_(model) {
  const Config& config = Internals::impl(model).config;
  for (size_t i = 0; i < encodings.size(); ++i) {
    check_encoding(encodings[i], static_cast<int64_t>(i), config);
  }
  std::vector<int64_t> order(encodings.size());
  std::iota(order.begin(), order.end(), 0);
  batch_ = make_batch(encodings, order, config);
}

void Pass::hidden() {
  engine::Team team(scheduler());
  Internals::impl(model_).encoder.run(batch_, team, engine::Reads::all, space_, {});
}

void Pass::logits() {
  const auto& impl = Internals::impl(model_);
  engine::Team team(scheduler());
  const Tensor x = impl.encoder.run(batch_, team, impl.sequence_reads(), space_, {});
  impl.by_sequence(batch_, x, team, space_);
}

namespace {

double bytes_of_weight(const engine::Product& product) {
  if (product.precision == engine::Precision::int8) return 1;
  return product.precision == engine::Precision::bf16 || product.panel.halved ? 2 : 4;
}

}  // namespace

// For logits, the last layer may compute only each input's first token after the keys and values.
Pass::Work Pass::work(bool logits) const {
  const auto& impl = Internals::impl(model_);
  const Encoder& encoder = impl.encoder;
  Work work;
  const auto multiply = [&](const engine::Linear& linear, int64_t rows) {
    const double weights = static_cast<double>(linear.width() * linear.columns());
    work.operations += 2 * weights * static_cast<double>(rows);
    work.bytes += weights * bytes_of_weight(linear.product());
  };
  const int64_t layers = std::ssize(encoder.order) * encoder.layers_per_group;
  for (int64_t i = 0; i < layers; ++i) {
    const Layer& layer =
        encoder.layers[encoder.order[i / encoder.layers_per_group] + i % encoder.layers_per_group];
    const bool first = i + 1 == layers && logits && !layer.bottleneck &&
                       impl.sequence_reads() == engine::Reads::first;
    const int64_t rows = first ? batch_.sequences() : batch_.tokens();
    multiply(layer.qkv, batch_.tokens());
    multiply(layer.attention_output, rows);
    for (const auto* linear : {&layer.intermediate, &layer.up, &layer.output}) {
      if (*linear) multiply(**linear, rows);
    }
    std::vector<DenseLayer> others;
    if (layer.bottleneck) others = layer.bottleneck->dense_layers("", "");
    if (layer.layer_inputs) others = layer.layer_inputs->dense_layers("");
    for (const DenseLayer& dense : others) multiply(*dense.linears.front(), rows);
    if (const auto& cross = layer.cross) {
      for (const auto* linear : {&cross->query, &cross->key_value, &cross->output}) {
        multiply(*linear, rows);
      }
    }
    if (const auto& experts = layer.experts) {
      for (const engine::Linear* linear : experts->products()) {
        multiply(*linear, rows * experts->chosen());
        work.bytes += static_cast<double>((experts->count() - 1) * linear->width()) *
                      static_cast<double>(linear->columns()) * bytes_of_weight(linear->product());
      }
    }
    int64_t pairs = 0;  // of a query and a key it attends to
    for (int64_t sequence = 0; sequence < batch_.sequences(); ++sequence) {
      if (layer.short_convolution) break;
      const int64_t length = batch_.starts[sequence + 1] - batch_.starts[sequence];
      const int64_t window = layer.positions.window > 0 ? layer.positions.window : length;
      for (int64_t t = 0; t < (first ? 1 : length); ++t) {
        const int64_t after = layer.positions.causal ? 0 : window;
        pairs += std::min(length - 1, t + after) - std::max<int64_t>(0, t - window) + 1;
        if (layer.cross) pairs += length;
      }
    }
    work.operations +=
        4 * static_cast<double>(layer.attention_output.width()) * static_cast<double>(pairs);
  }
  return work;
}

std::string Pass::product() const { return product_of(model_); }
bool Pass::halves_on_tiles() const {
  const engine::PanelFormat& panel =
      Internals::impl(model_).encoder.layers.front().qkv.product().panel;
  return panel.halved && panel.tiles;
}
engine::Precision Pass::precision() const { return Internals::impl(model_).encoder.precision; }

engine::Scheduler& Pass::scheduler() const { return Internals::impl(model_).workers.scheduler(); }

}  // namespace bert::models
