// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/linear.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {
namespace {

// 512 KiB in f32: all threads may read such weights, and they stay in cache between runs.
constexpr int64_t kFewWeights = 128 << 10;

// The rows of a product in blocks that stay in a core's second-level cache beside a panel. Their
// heights differ by less than step_, a multiple of the kernel's tile: with few panels, threads
// would wait for the one with the highest block. Where it costs little, each thread gets the same
// number of blocks: from one product to the next it then finds the same rows in its own cache
// rather than in another's (2 threads, 128 tokens of hidden size 128: 9 %, 512 of 768: 3 %).
class RowBlocks {
 public:
  RowBlocks(int64_t rows, int64_t panels, bool few_weights, bool tiles, int threads)
      : rows_(rows), step_(tiles ? kSplitRows : 12), count_(divide_up(rows, kMaxRows)) {
    const int64_t even = divide_up(count_, threads) * threads;
    const int64_t min_rows = !few_weights ? kMinRowsOfManyWeights
                             : tiles      ? 2 * kSplitRows
                                          : kMinRows;
    if (divide_up(rows, even) >= min_rows) count_ = even;
    while (count_ * panels < threads && divide_up(rows, count_) > kMinRows) ++count_;
  }
  int64_t count() const { return count_; }
  int64_t begin(int64_t i) const {
    return i == count_ ? rows_ : rows_ * i / count_ / step_ * step_;
  }
  // An upper bound on the rows of any block.
  int64_t max_height() const { return divide_up(rows_, count_ * step_) * step_ + step_; }

 private:
  static constexpr int64_t kMaxRows = 240, kMinRowsOfManyWeights = 96, kMinRows = 24;
  int64_t rows_, step_, count_;
};

// Blocks of rows as matmul_split takes them. Each thread splits those that it needs: by
// measurement, that is faster than fetching them from the cache of a thread that has them.
class SplitBlocks {
 public:
  SplitBlocks(ConstTensor x, const RowBlocks& blocks, int64_t row_words, Buffer& scratch,
              int threads)
      : x_(x), blocks_(blocks), row_words_(row_words), block_of_worker_(threads, -1) {
    scratch.resize_discarding(blocks.max_height() * row_words * threads);
    words_ = as_words(scratch.data());
  }
  // [height of the block, row_words]
  const Word32* words(int64_t block, int worker) {
    Word32* words = words_ + worker * blocks_.max_height() * row_words_;
    if (std::exchange(block_of_worker_[worker], block) == block) return words;
    const int64_t begin = blocks_.begin(block), end = blocks_.begin(block + 1);
    for (int64_t i = begin; i < end; i += kSplitRows) {
      tile_kernels()->split_rows(x_.row(i), x_.columns, std::min(kSplitRows, end - i), x_.columns,
                                 words + (i - begin) * row_words_);
    }
    return words;
  }

 private:
  ConstTensor x_;
  const RowBlocks& blocks_;
  int64_t row_words_;
  Word32* words_;
  std::vector<int64_t> block_of_worker_;  // the block that each thread split last, or -1
};

// Words of a panel at a time: such a part stays in a second-level cache of 1 MiB together with the
// one that is being prefetched. By measurement, 3072 inputs took 4 % longer at once.
constexpr int64_t kMaxPartWords = 1536;
alignas(64) constexpr float kNoBias[64] = {};  // for the parts after the first

void multiply_in_parts(Matmul matmul, const MatmulTask& whole, int64_t width) {
  const int64_t parts =
      whole.activation == Activation::none ? divide_up(whole.words, kMaxPartWords) : 1;
  MatmulTask task = whole;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = whole.words * part / parts, end = whole.words * (part + 1) / parts;
    task.x = whole.x + begin;
    task.panel = whole.panel + begin * width;
    task.next = part + 1 < parts ? whole.panel + end * width : whole.next;
    task.words = end - begin;
    matmul(task);
    task.add = true;
    task.bias = kNoBias;
  }
}

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

// By measurement on Granite Rapids, larger weights, which come from memory, are slower with few
// rows (0.87), though 1.2 to 1.5 times as fast with many; and all rows must be multiplied in the
// same way.
bool Linear::Packed::uses_tiles() const {
  return precision == Precision::f32 && n * k <= kFewWeights && tile_kernels();
}

int64_t Linear::Packed::panel_count() const { return divide_up(n, row_kernels().panel_columns); }

const Word32* Linear::Packed::panel(int64_t i) const {
  return as_words(panels.data()) + i * row_kernels().panel_columns * row_words();
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

Linear::ConvertedRows Linear::Packed::convert(ThreadPool& pool, ConstTensor x,
                                              Buffer& scratch) const {
  if (precision == Precision::f32) return {.words = as_words(x.data), .scales = nullptr};
  const Timed timed(Step::convert);
  const RowKernels& kernels = row_kernels();
  // The scales lie behind the rows.
  static_assert(sizeof(RowScale) == 2 * sizeof(float) && alignof(RowScale) == alignof(float));
  scratch.resize_discarding(x.rows * (row_words() + 2));
  Word32* words_of_x = as_words(scratch.data());
  auto* scales = reinterpret_cast<RowScale*>(scratch.data() + x.rows * row_words());
  constexpr int64_t kConvertedRowsPerTask = 16;
  pool.run(divide_up(x.rows, kConvertedRowsPerTask), [&](int64_t block, int) {
    for (int64_t i = block * kConvertedRowsPerTask;
         i < std::min(x.rows, (block + 1) * kConvertedRowsPerTask); ++i) {
      const float* row = x.row(i);
      Word32* to = words_of_x + i * row_words();
      if (precision == Precision::bf16) {
        kernels.round_bf16(row, k, to);
        continue;
      }
      scales[i] = kernels.quantise_inputs(row, mask.empty() ? nullptr : mask.data(), k, to);
      to += words;
      for (const int32_t input : exact) *to++ = std::bit_cast<Word32>(row[input]);
    }
  });
  return {.words = words_of_x, .scales = scales};
}

void Linear::run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y, bool add) const {
  assert(x.columns == width() && y.columns == columns() && x.rows == y.rows);
  assert(is_packed());
  const Packed& w = *packed_;
  const ConvertedRows inputs = w.convert(pool, x, scratch);
  const Timed timed(Step::linear);
  const int64_t width = row_kernels().panel_columns, panels = w.panel_count();
  assert(width <= std::ssize(kNoBias));
  const bool tiles = w.uses_tiles();
  const RowBlocks blocks(x.rows, panels, w.n * w.k <= kFewWeights, tiles, pool.threads());
  const int64_t count = blocks.count() * panels;
  // The panel that a worker reads after its i-th task: its next, or the first of what runs next.
  const auto after = [&](int64_t i, int worker) {
    const bool ends = i + 1 == count || i + 1 == pool.first_of(worker + 1, count);
    if (!ends) return w.panel((i + 1) % panels);
    const Packed& next = w.next && w.next->words > 0 ? *w.next : w;
    const int64_t first = pool.first_of(worker, blocks.count() * next.panel_count());
    return next.panel(first % next.panel_count());
  };
  std::optional<SplitBlocks> split;
  const int64_t split_words = w.words * kSplitParts / 2;
  if (tiles) split.emplace(x, blocks, split_words, scratch, pool.threads());
  // A thread usually gets neighbouring panels, each of which prefetches the next.
  pool.run(count, [&](int64_t i, int worker) {
    const int64_t block = i / panels, first = blocks.begin(block), column = i % panels * width;
    MatmulTask task{.x = inputs.words + first * w.row_words(),
                    .panel = w.panel(i % panels),
                    .next = after(i, worker),
                    .bias = w.bias.data() + column,
                    .y = y.row(first) + column,
                    .rows = blocks.begin(block + 1) - first,
                    .words = w.words,
                    .columns = std::min(width, w.n - column),
                    .x_stride = w.row_words(),
                    .y_stride = w.n,
                    .activation = w.activation,
                    .add = add};
    if (tiles) {
      task.x = split->words(block, worker);
      task.x_stride = split_words;
      return tile_kernels()->matmul_split(task);
    }
    if (w.precision == Precision::int8) {
      task.exact = std::ssize(w.exact);
      task.row_scales = inputs.scales + first;
      task.column_scales = w.column_scales.data() + column;
      task.column_sums = w.column_sums.data() + column;
      return row_kernels().matmul_int8(task);
    }
    multiply_in_parts(matmul_for(w.precision), task, width);
  });
}

void multiply_in_place(ThreadPool& pool, ConstTensor x, ConstTensor weight, const float* bias,
                       Tensor y) {
  assert(x.columns == weight.columns && y.columns == weight.rows && x.rows == y.rows);
  const Timed timed(Step::linear);
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns;
  const int64_t panel_size = divide_up(width * x.columns, 16) * 16;  // in whole cache lines
  const Buffer panels(panel_size * pool.threads());
  pool.run(divide_up(weight.rows, width), [&](int64_t i, int worker) {
    const int64_t first = i * width, columns = std::min(width, weight.rows - first);
    Word32* panel = as_words(panels.data()) + worker * panel_size;
    std::vector<const Word32*> rows;
    for (int64_t c = 0; c < columns; ++c) rows.push_back(as_words(weight.row(first + c)));
    kernels.pack_panel(rows.data(), columns, x.columns, panel);
    kernels.matmul_f32({.x = as_words(x.data),
                        .panel = panel,
                        .next = panel,
                        .bias = bias + first,
                        .y = y.data + first,
                        .rows = x.rows,
                        .words = x.columns,
                        .columns = columns,
                        .x_stride = x.columns,
                        .y_stride = y.columns});
  });
}

double bf16_speed() {
  constexpr int64_t kRows = 24, kWidth = 512;
  const int64_t columns = row_kernels().panel_columns;
  const Buffer x(kRows * kWidth), panel(kWidth * columns), bias(columns), y(kRows * columns);
  // The least of several times, as anything else only adds to it.
  double f32_seconds = 1, bf16_seconds = 1;
  for (int round = 0; round < 12; ++round) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const int64_t words = kWidth / inputs_per_word(precision);
      const MatmulTask task{.x = as_words(x.data()),
                            .panel = as_words(panel.data()),
                            .next = as_words(panel.data()),
                            .bias = bias.data(),
                            .y = y.data(),
                            .rows = kRows,
                            .words = words,
                            .columns = columns,
                            .x_stride = words,
                            .y_stride = columns};
      const auto begin = std::chrono::steady_clock::now();
      matmul_for(precision)(task);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      double& least = precision == Precision::bf16 ? bf16_seconds : f32_seconds;
      least = std::min(least, seconds.count());
    }
  }
  return f32_seconds / bf16_seconds;
}

}  // namespace bert::engine
