// SPDX-License-Identifier: Apache-2.0
//
// How a Linear is made: its weights are packed once, in the order and precision that run() reads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

int64_t words_of(Precision precision, Int8Format int8, int64_t k) {
  const int64_t per_word = precision == Precision::f32    ? 1
                           : precision == Precision::bf16 ? 2
                                                          : int8.per_word();
  return divide_up(k, per_word);
}

int64_t panel_words(const PanelFormat& format, int64_t row_words) {
  return format.rows(round_up(row_words, format.word_step)) * format.columns;
}

void pack_panel(const PanelFormat& format, const Word32* const* rows, int64_t columns,
                int64_t row_words, Word32* panel) {
  if (format.transposed) {
    return best_kernels().pack_panel(rows, columns, row_words, format.columns, panel);
  }
  for (int64_t c = 0; c < columns; ++c) std::copy_n(rows[c], row_words, panel + c * row_words);
}

namespace {

// Whether all weights are bf16. Denormal numbers don't count, as some instructions take them for 0.
bool are_bf16(Team& team, const std::vector<const float*>& rows, int64_t k) {
  std::atomic<bool> all = true;
  team.run(std::ssize(rows), [&](int64_t row, int) {
    if (!all) return;
    uint32_t rest = 0;
    for (int64_t i = 0; i < k; ++i) {
      const auto bits = std::bit_cast<uint32_t>(rows[row][i]);
      rest |= (bits & 0x7f800000) == 0 ? bits << 1 : bits & 0xffff;
    }
    if (rest != 0) all = false;
  });
  return all;
}

}  // namespace

Linear::Linear(Team& team, std::span<const Part> parts, Activation activation,
               const Product& product, std::shared_ptr<void> owner)
    : packed_(std::make_unique<Packed>()) {
  Packed& packed = *packed_;
  packed.k = parts.front().weight.columns;
  packed.activation = activation;
  packed.product = &product;
  packed.owner = std::move(owner);
  packed.parts.assign(parts.begin(), parts.end());
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.weight.rows; ++i) packed.rows.push_back(part.weight.row(i));
  }
  packed.n = std::ssize(packed.rows);
  packed.bias.resize_discarding(packed.n);
  float* bias = packed.bias.data();
  for (const Part& part : parts) bias = std::copy_n(part.bias, part.weight.rows, bias);
  if (product.precision == Precision::int8) return;
  const Product* const halved = product.halved(packed.k);
  if (halved && are_bf16(team, packed.rows, packed.k)) packed.product = halved;
  packed.pack(team, [&](int64_t column, Word32* to) {  // f32 is packed as stored
    best_kernels().round_bf16(packed.rows[column], packed.k, to);
  });
}

Linear::Linear(Team& team, const Stored& stored, int64_t width, Activation activation,
               const Product& product)
    : packed_(std::make_unique<Packed>()) {
  Packed& packed = *packed_;
  packed.n = std::ssize(stored.bias);
  packed.k = width;
  packed.activation = activation;
  assert(product.precision == Precision::int8);
  packed.product = &product;
  packed.bias.resize_discarding(packed.n);
  std::ranges::copy(stored.bias, packed.bias.data());
  packed.keep_exact(stored.exact);
  const int64_t exact = std::ssize(stored.exact);
  packed.pack(team, [&](int64_t column, Word32* to) {
    packed.keep_quantised(column, stored.q.data() + column * width, stored.scales[column], to);
    std::copy_n(as_words(stored.exact_weights.data()) + column * exact, exact, to + packed.words);
  });
}

Linear::Stored Linear::stored() const {
  const Packed& packed = *packed_;
  const PanelFormat& format = packed.product->panel;
  const int64_t width = format.columns, exact = std::ssize(packed.exact);
  Stored stored{.q = std::vector<int8_t>(packed.n * packed.k),
                .scales = {packed.column_scales.data(), packed.column_scales.data() + packed.n},
                .bias = {packed.bias.data(), packed.bias.data() + packed.n},
                .exact = packed.exact,
                .exact_weights = std::vector<float>(packed.n * exact)};
  for (int64_t column = 0; column < packed.n; ++column) {
    const auto word = [&, panel = packed.panel(column / width), c = column % width](int64_t i) {
      return format.transposed ? panel + i * width + c : panel + c * packed.row_words() + i;
    };
    int8_t* q = stored.q.data() + column * packed.k;
    for (int64_t i = 0, per = format.int8.per_word(); i < packed.k; ++i) {
      // A byte, or the lower byte of a short.
      q[i] = reinterpret_cast<const int8_t*>(word(i / per))[i % per * format.int8.bytes];
    }
    for (int64_t e = 0; e < exact; ++e) {
      stored.exact_weights[column * exact + e] = std::bit_cast<float>(*word(packed.words + e));
    }
  }
  return stored;
}

void Linear::Packed::keep_exact(std::vector<int32_t> inputs) {
  exact = std::move(inputs);
  mask = mask_inputs(exact, k);
}

void Linear::Packed::keep_quantised(int64_t column, const int8_t* q, float scale, Word32* to) {
  column_scales.data()[column] = scale;
  column_sums[column] = std::accumulate(q, q + k, 0);
  uint8_t& panel_paired = paired[column / product->panel.columns];
  panel_paired = panel_paired && fours_fit({q, static_cast<size_t>(k)});
  if (product->panel.int8.bytes == 1) {
    std::copy_n(q, k, reinterpret_cast<int8_t*>(to));
  } else {
    std::copy_n(q, k, reinterpret_cast<int16_t*>(to));
  }
}

void Linear::quantise(Team& team, const InputStatistics& statistics) {
  Packed& packed = *packed_;
  assert(packed.product->precision == Precision::int8 && !is_packed());
  packed.keep_exact(find_outliers(statistics));
  packed.pack(team, [&](int64_t column, Word32* to) {
    const float* weights = packed.rows[column];
    const QuantisedRow row =
        quantise_row({weights, static_cast<size_t>(packed.k)}, packed.mask, statistics);
    packed.keep_quantised(column, row.q.data(), row.scale, to);
    packed.bias.data()[column] -= row.mean_error;
    Word32* exact = to + packed.words;
    for (const int32_t input : packed.exact) *exact++ = std::bit_cast<Word32>(weights[input]);
  });
}

void Linear::Packed::pack(Team& team, const FillRow& fill) {
  const PanelFormat& format = product->panel;
  const bool as_stored = product->precision == Precision::f32 && !format.halved;
  words = words_of(product->precision, format.int8, k);
  // Where panels are padded, inputs that are converted anyway are padded to match.
  if (product->precision != Precision::f32) words = round_up(words, format.word_step);
  panels.resize_in_shared_pages(panel_count() * panel_words());
  if (product->precision == Precision::int8) {
    column_scales.resize_discarding(panel_count() * format.columns);
    column_sums.resize(panel_count() * format.columns);
    paired.assign(panel_count(), format.int8.paired);
  }
  team.run(panel_count(), [&](int64_t i, int) {
    const int64_t begin = i * format.columns, columns = std::min(format.columns, n - begin);
    const int64_t size = format.rows(row_words());
    std::vector<Word32> filled(as_stored ? 0 : columns * size);
    std::vector<const Word32*> sources;
    for (int64_t c = 0; c < columns; ++c) {
      if (!rows.empty() && !all_finite({rows[begin + c], static_cast<size_t>(k)})) {
        for (const Part& part : parts) require_finite(part.weight, part.name);
      }
      sources.push_back(as_stored ? as_words(rows[begin + c]) : &filled[c * size]);
      if (!as_stored) fill(begin + c, &filled[c * size]);
    }
    pack_panel(format, sources.data(), columns, size, as_words(panels.data()) + i * panel_words());
  });
  product->prepare(words, std::ssize(exact));
  parts = {};
  rows = {};
  owner.reset();
}

}  // namespace bert::engine
