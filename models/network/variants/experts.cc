// SPDX-License-Identifier: Apache-2.0
#include "models/network/variants/experts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "engine/rows/rows.h"
#include "models/network/build/build_parts.h"

namespace bert::models {

using engine::Activation;
using engine::Tensor;
using ExpertNames = LayerNames::ExpertNames;

namespace {

// The networks' weights and biases as they are stored.
struct Stored {
  WeightTable in, out;
  engine::Buffer in_bias, out_bias;  // [E, N], or none
};

// A network's own tensors, in int8.
std::string network_name(const std::string& layer, const char* tensor, int64_t network) {
  return layer + tensor + "." + std::to_string(network);
}

Stored read_stored(Checkpoint& checkpoint, const std::string& layer, const Config& config) {
  const ExpertNames& names = config.family->layer.experts;
  const int64_t count = config.experts.count, wide = config.intermediate, hidden = config.hidden;
  const std::string in = layer + names.in, out = layer + names.out;
  if (!names.is_stacked) {
    return {checkpoint.table(in, count * wide, hidden),
            checkpoint.table(out, count * wide, hidden),
            {},
            {}};
  }
  return {checkpoint.stacked(in, count, hidden, 2 * wide),
          checkpoint.stacked(out, count, wide, hidden),
          checkpoint.values(layer + names.in_bias, {count, 2 * wide}),
          checkpoint.values(layer + names.out_bias, {count, hidden})};
}

// A product's weights: the rows of a table from `row` on, or if `transposed` some of its columns.
struct Source {
  const WeightTable& table;
  int64_t row, column;
  bool transposed;
  const float* bias;  // or null
};

class ProductReader {
 public:
  ProductReader(const engine::Product& product, engine::Team& team)
      : product_(product), team_(team) {}

  engine::Linear read(const Source& source, int64_t columns, int64_t width, Activation activation) {
    const Tensor weight = copy(source, columns, width);
    const engine::Buffer none(columns);
    const engine::Linear::Part part = {weight, source.bias ? source.bias : none.data(),
                                       source.table.description()};
    return engine::Linear(team_, {&part, 1}, activation, product_, copy_);
  }

 private:
  // The weight [columns, width], whose memory is used again unless a Linear still keeps it.
  Tensor copy(const Source& source, int64_t columns, int64_t width) {
    // A mapping of its own, which goes back to the system.
    constexpr int64_t kLeast = engine::Buffer::kHugePage / sizeof(float);
    if (!copy_ || copy_.use_count() > 1) copy_ = std::make_shared<engine::Buffer>();
    copy_->resize_discarding(std::max(columns * width, kLeast));
    const Tensor to = {copy_->data(), columns, width};
    constexpr int64_t kAtATime = 16;  // a cache line of each row of `to`
    const engine::Table& from = source.table.view;
    const int64_t rows = source.transposed ? width : columns;
    team_.run(engine::divide_up(rows, kAtATime), [&](int64_t block, int) {
      engine::Buffer room(kAtATime * from.columns);
      const int64_t first = block * kAtATime, count = std::min(kAtATime, rows - first);
      const float* row[kAtATime];
      for (int64_t i = 0; i < count; ++i) {
        row[i] = from.row(source.row + first + i, room.data() + i * from.columns) + source.column;
        if (!source.transposed) std::copy_n(row[i], width, to.row(first + i));
      }
      for (int64_t j = 0; source.transposed && j < columns; ++j) {
        for (int64_t i = 0; i < count; ++i) to.row(j)[first + i] = row[i][j];
      }
    });
    return to;
  }

  const engine::Product& product_;
  engine::Team& team_;
  std::shared_ptr<engine::Buffer> copy_;
};

// Adds a row of each network's, weighted by the row's score, to its token's row.
template <typename Place>
void add_weighted(engine::Team& team, const std::vector<Place>& places, engine::ConstTensor rows,
                  Tensor sum) {
  engine::for_row_blocks(team, rows.rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* const to = sum.row(places[row].token);
      const float score = places[row].score, *const from = rows.row(row);
      for (int64_t j = 0; j < rows.columns; ++j) to[j] += score * from[j];
    }
  });
}

}  // namespace

Experts::Experts(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                 const engine::Product& product, const engine::Product& f32, engine::Team& team)
    : router_(read_linear(checkpoint,
                          {{layer + config.family->layer.experts.router},
                           config.experts.count,
                           config.hidden,
                           config.family->layer.experts.is_stacked},
                          Activation::none, f32, team)),
      bias_(config.hidden),
      chosen_(config.experts.chosen),
      among_chosen_(config.experts.among_chosen),
      limit_(config.experts.limit),
      most_(limit_ / (1 + std::exp(-1.702f * limit_))) {
  const ExpertNames& names = config.family->layer.experts;
  if (*names.bias) bias_ = checkpoint.vector(layer + names.bias, config.hidden);
  if (checkpoint.is_int8(network_name(layer, names.in, 0))) {
    read_int8(checkpoint, layer, config, product, team);
  } else {
    read_floats(checkpoint, layer, config, product, team);
  }
  for (Network& network : networks_) {
    network.in.set_prefetch_target(network.up ? *network.up : network.out);
    if (network.up) network.up->set_prefetch_target(network.out);
  }
}

void Experts::read_floats(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                          const engine::Product& product, engine::Team& team) {
  const ExpertNames& names = config.family->layer.experts;
  const int64_t wide = config.intermediate, hidden = config.hidden;
  check_width(checkpoint, layer + names.in, hidden, product.precision);
  check_width(checkpoint, layer + names.out, wide, product.precision);
  const Stored stored = read_stored(checkpoint, layer, config);
  ProductReader reader(product, team);
  const auto read_in = [&](int64_t network, bool is_up) {
    const int64_t column = is_up ? wide : 0;
    const float* const bias = stored.in_bias.data();
    const Source source = {stored.in, network * (names.is_stacked ? hidden : wide), column,
                           names.is_stacked, bias ? bias + network * 2 * wide + column : nullptr};
    return reader.read(source, wide, hidden, is_up ? Activation::none : config.activation);
  };
  for (int64_t network = 0; network < config.experts.count; ++network) {
    const float* const bias = stored.out_bias.data();
    const Source out = {stored.out, network * wide, 0, true,
                        bias ? bias + network * hidden : nullptr};
    networks_.push_back({read_in(network, false),
                         names.is_stacked ? std::optional(read_in(network, true)) : std::nullopt,
                         reader.read(out, hidden, wide, Activation::none)});
  }
  Checkpoint::release(stored.in);
  Checkpoint::release(stored.out);
}

void Experts::read_int8(Checkpoint& checkpoint, const std::string& layer, const Config& config,
                        const engine::Product& product, engine::Team& team) {
  const ExpertNames& names = config.family->layer.experts;
  const int64_t wide = config.intermediate, hidden = config.hidden;
  for (int64_t network = 0; network < config.experts.count; ++network) {
    const DenseNames in = {.names = {network_name(layer, names.in, network)},
                           .columns = names.is_stacked ? 2 * wide : wide,
                           .width = hidden,
                           .count = wide};
    DenseNames up = in;
    up.first = wide;
    const auto read = [&](const DenseNames& dense, Activation activation) {
      return read_linear(checkpoint, dense, activation, product, team);
    };
    networks_.push_back(
        {read(in, config.activation),
         names.is_stacked ? std::optional(read(up, Activation::none)) : std::nullopt,
         read({{network_name(layer, names.out, network)}, hidden, wide}, Activation::none)});
  }
}

std::vector<const engine::Linear*> Experts::products_of(const Network& network) {
  if (network.up) return {&network.in, &*network.up, &network.out};
  return {&network.in, &network.out};
}

std::vector<DenseLayer> Experts::dense_layers(const std::string& layer,
                                              const ExpertNames& names) const {
  std::vector<DenseLayer> all;
  for (int64_t i = 0; i < count(); ++i) {
    std::vector<const engine::Linear*> in = products_of(networks_[i]);
    in.pop_back();
    all.push_back({{network_name(layer, names.in, i)}, in});
    all.push_back({{network_name(layer, names.out, i)}, {&networks_[i].out}});
  }
  return all;
}

// For each network, the tokens that take it. Of equal scores, the first network wins.
std::vector<std::vector<Experts::Place>> Experts::choose(engine::ConstTensor scores) const {
  std::vector<std::vector<Place>> places(networks_.size());
  std::vector<std::pair<float, int64_t>> order(networks_.size());  // minus score; network
  for (int64_t token = 0; token < scores.rows; ++token) {
    const float* const row = scores.row(token);
    for (int64_t i = 0; i < scores.columns; ++i) {
      order[i] = {std::isnan(row[i]) ? -INFINITY : -row[i], i};
    }
    const auto chosen = order.begin() + chosen_;
    std::partial_sort(order.begin(), chosen, order.end());
    const float least = order.front().first;
    float sum = 0;
    for (auto each = order.begin(); each < (among_chosen_ ? chosen : order.end()); ++each) {
      sum += std::exp(least - each->first);
    }
    for (int64_t k = 0; k < chosen_; ++k) {
      places[order[k].second].push_back({token, std::exp(least - order[k].first) / sum});
    }
  }
  return places;
}

void Experts::run(const Network& network, engine::Team& team, engine::Buffer& wide,
                  engine::Buffer& scratch, Tensor inputs, const BeforeProduct& before,
                  Tensor y) const {
  const int64_t inside = network.in.columns();
  const Tensor inner = {wide.data(), inputs.rows, inside};
  const auto prepare = [&](const engine::Linear& product, Tensor of_product) {
    if (!product.is_packed()) before(product, of_product);
  };
  prepare(network.in, inputs);
  network.in.run(team, inputs, scratch, inner);
  if (network.up) {
    const Tensor up = {wide.data() + inner.size(), inputs.rows, inside};
    prepare(*network.up, inputs);
    network.up->run(team, inputs, scratch, up);
    for (int64_t i = 0; i < inner.size(); ++i) {
      const float factor = std::min(std::max(up.data[i], -limit_), limit_) + 1;
      inner.data[i] = std::min(inner.data[i], most_) * factor;
    }
  }
  prepare(network.out, inner);
  network.out.run(team, inner, scratch, y);
}

void Experts::run_add(engine::Team& team, engine::Buffer& routed, engine::Buffer& wide,
                      engine::Buffer& scratch, engine::ConstTensor inputs, Tensor x,
                      const BeforeProduct& before) const {
  const int64_t hidden = x.columns;
  float* const memory = routed.tensor(3 * x.rows, std::max(hidden, count())).data;
  const Tensor sum = {memory, x.rows, hidden};
  float* const gathered = memory + sum.size();
  float* const given = gathered + sum.size();  // first the router's scores, then the outputs
  wide.resize_discarding((networks_.front().up ? 2 : 1) * x.rows * products().front()->columns());
  const Tensor scores = {given, x.rows, count()};
  router_.run(team, inputs, scratch, scores);
  const auto places = choose(scores);
  std::fill_n(sum.data, sum.size(), 0.0f);
  for (size_t i = 0; i < networks_.size(); ++i) {
    const Network& network = networks_[i];
    const auto& of_network = places[i];
    if (!network.out.is_packed()) {
      const Tensor all = {gathered, x.rows, hidden};
      std::copy_n(inputs.data, inputs.size(), all.data);
      run(network, team, wide, scratch, all, before, {given, x.rows, hidden});
    }
    if (of_network.empty()) continue;
    const Tensor chosen = {gathered, std::ssize(of_network), hidden};
    engine::for_row_blocks(team, chosen.rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::copy_n(inputs.row(of_network[row].token), hidden, chosen.row(row));
      }
    });
    const Tensor outputs = {given, chosen.rows, hidden};
    run(network, team, wide, scratch, chosen, before, outputs);
    add_weighted(team, of_network, outputs, sum);
  }
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t j = 0; j < hidden; ++j) x.row(row)[j] += sum.row(row)[j] + bias_.data()[j];
  }
}

}  // namespace bert::models
