// SPDX-License-Identifier: Apache-2.0
//
// How a Linear is made: its weights, once, in the order and the precision that run() reads them in.
#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/kernels/pick_kernels.h"

namespace bert::engine {
namespace {

int64_t inputs_per_word(Precision precision) {
  return precision == Precision::f32    ? 1
         : precision == Precision::bf16 ? 2
                                        : row_kernels().int8_per_word;
}

}  // namespace

Linear::Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation,
               Precision precision, std::shared_ptr<void> owner)
    : packed_(std::make_unique<Packed>()) {
  Packed& packed = *packed_;
  packed.k = parts.front().weight.columns;
  packed.activation = activation;
  packed.precision = precision;
  packed.owner = std::move(owner);
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.weight.rows; ++i) packed.rows.push_back(part.weight.row(i));
  }
  packed.n = std::ssize(packed.rows);
  packed.bias.resize_discarding(packed.n);
  float* bias = packed.bias.data();
  for (const Part& part : parts) bias = std::copy_n(part.bias, part.weight.rows, bias);
  if (precision == Precision::int8) return;
  packed.pack(pool, [&](int64_t column, Word32* to) {
    row_kernels().round_bf16(packed.rows[column], packed.k, to);
  });
}

Linear::Linear(ThreadPool& pool, const Stored& stored, int64_t width, Activation activation)
    : packed_(std::make_unique<Packed>()) {
  Packed& packed = *packed_;
  packed.n = std::ssize(stored.bias);
  packed.k = width;
  packed.activation = activation;
  packed.precision = Precision::int8;
  packed.bias.resize_discarding(packed.n);
  std::ranges::copy(stored.bias, packed.bias.data());
  packed.keep_exact(stored.exact);
  const int64_t exact = std::ssize(stored.exact);
  packed.pack(pool, [&](int64_t column, Word32* to) {
    packed.keep_quantised(column, stored.q.data() + column * width, stored.scales[column], to);
    std::copy_n(as_words(stored.exact_weights.data()) + column * exact, exact, to + packed.words);
  });
}

Linear::Stored Linear::stored() const {
  const Packed& packed = *packed_;
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, exact = std::ssize(packed.exact);
  Stored stored{.q = std::vector<int8_t>(packed.n * packed.k),
                .scales = {packed.column_scales.data(), packed.column_scales.data() + packed.n},
                .bias = {packed.bias.data(), packed.bias.data() + packed.n},
                .exact = packed.exact,
                .exact_weights = std::vector<float>(packed.n * exact)};
  for (int64_t column = 0; column < packed.n; ++column) {
    const Word32* first = packed.panel(column / width) + column % width;
    int8_t* q = stored.q.data() + column * packed.k;
    for (int64_t i = 0; i < packed.k; ++i) {
      // A byte, or the lower byte of a short.
      const Word32* word = first + i / kernels.int8_per_word * width;
      const int64_t byte = i % kernels.int8_per_word * 4 / kernels.int8_per_word;
      q[i] = reinterpret_cast<const int8_t*>(word)[byte];
    }
    for (int64_t e = 0; e < exact; ++e) {
      stored.exact_weights[column * exact + e] =
          std::bit_cast<float>(first[(packed.words + e) * width]);
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
  row_kernels().pack_int8(q, k, to);
}

void Linear::quantise(ThreadPool& pool, const InputStatistics& statistics) {
  Packed& packed = *packed_;
  assert(packed.precision == Precision::int8 && !is_packed());
  packed.keep_exact(find_outliers(statistics));
  packed.pack(pool, [&](int64_t column, Word32* to) {
    const float* weights = packed.rows[column];
    const QuantisedRow row =
        quantise_row({weights, static_cast<size_t>(packed.k)}, packed.mask, statistics);
    packed.keep_quantised(column, row.q.data(), row.scale, to);
    packed.bias.data()[column] -= row.mean_error;
    Word32* exact = to + packed.words;
    for (const int32_t input : packed.exact) *exact++ = std::bit_cast<Word32>(weights[input]);
  });
}

void Linear::Packed::pack(ThreadPool& pool, const FillRow& fill) {
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns;
  words = uses_tiles() ? divide_up(k, kSplitInputs) * kSplitInputs
                       : divide_up(k, inputs_per_word(precision));
  panels.resize_in_shared_pages(panel_count() * width * row_words());
  if (precision == Precision::int8) {
    column_scales.resize_discarding(panel_count() * width);
    column_sums.resize(panel_count() * width);
  }
  pool.run(panel_count(), [&](int64_t i, int) {
    const int64_t begin = i * width, columns = std::min(width, n - begin);
    const bool as_stored = precision == Precision::f32;
    std::vector<Word32> filled(as_stored ? 0 : columns * row_words());
    std::vector<const Word32*> sources;
    for (int64_t c = 0; c < columns; ++c) {
      sources.push_back(as_stored ? as_words(rows[begin + c]) : &filled[c * row_words()]);
      if (!as_stored) fill(begin + c, &filled[c * row_words()]);
    }
    Word32* panel = as_words(panels.data()) + begin * row_words();
    if (!uses_tiles()) return kernels.pack_panel(sources.data(), columns, row_words(), panel);
    const Buffer whole(width * k);
    kernels.pack_panel(sources.data(), columns, k, as_words(whole.data()));
    tile_kernels()->split_panel(as_words(whole.data()), k, panel);
  });
  rows = {};
  owner.reset();
}

}  // namespace bert::engine
