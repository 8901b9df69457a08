// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/linear.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {
namespace {

// 512 KiB in f32, which all threads may read, and which do not come from memory each time.
constexpr int64_t kFewWeights = 128 << 10;

// The rows of a product in blocks that stay in a core's second-level cache beside a panel. They are
// equally high but for less than step_, a multiple of the kernel's tile: with few panels, threads
// would wait for the one that has the highest. Where it costs little, each thread has as many: from
// one product to the next it then finds the same rows in its own cache, and not in another's
// (2 threads, 128 tokens of hidden size 128: 9 %, 512 of 768: 3 %).
class RowBlocks {
 public:
  RowBlocks(int64_t rows, int64_t panels, bool few_weights, bool split, int threads)
      : rows_(rows), step_(split ? kSplitRows : 12), count_(divide_up(rows, kMost)) {
    const int64_t even = divide_up(count_, threads) * threads;
    const int64_t least = !few_weights ? kHigh : split ? 2 * kSplitRows : kLeast;
    if (divide_up(rows, even) >= least) count_ = even;
    while (count_ * panels < threads && divide_up(rows, count_) > kLeast) ++count_;
  }
  int64_t count() const { return count_; }
  int64_t begin(int64_t i) const {
    return i == count_ ? rows_ : rows_ * i / count_ / step_ * step_;
  }
  // As many rows as any block has, or some more.
  int64_t highest() const { return divide_up(rows_, count_ * step_) * step_ + step_; }

 private:
  static constexpr int64_t kMost = 240, kHigh = 96, kLeast = 24;
  int64_t rows_, step_, count_;
};

// Blocks of rows as matmul_split takes them, split by each thread that needs them: by measurement,
// that is faster than to fetch them from the cache of one that has.
class Splits {
 public:
  Splits(ConstTensor x, const RowBlocks& blocks, int64_t units, Buffer& scratch, int threads)
      : x_(x), blocks_(blocks), units_(units), there_(threads, -1) {
    scratch.reserve(blocks.highest() * units * threads);
    parts_ = scratch.data();
  }
  const Unit* of(int64_t block, int worker) {
    Unit* parts = parts_ + worker * blocks_.highest() * units_;
    if (std::exchange(there_[worker], block) == block) return parts;
    const int64_t begin = blocks_.begin(block), end = blocks_.begin(block + 1);
    for (int64_t i = begin; i < end; i += kSplitRows) {
      tile_kernels()->split_rows(x_.row(i), x_.columns, std::min(kSplitRows, end - i), x_.columns,
                                 parts + (i - begin) * units_);
    }
    return parts;
  }

 private:
  ConstTensor x_;
  const RowBlocks& blocks_;
  int64_t units_;  // of a row
  Unit* parts_;
  std::vector<int64_t> there_;  // the block that each thread has split
};

// Of a panel at a time: that part and the one that is fetched meanwhile stay in a second-level
// cache of 1 MiB. By measurement, 3072 inputs took 4 % longer at once.
constexpr int64_t kMostUnits = 1536;
alignas(64) constexpr float kNoBias[64] = {};  // of the parts after the first

void multiply_in_parts(void (*matmul)(const MatmulTask&), const MatmulTask& whole, int64_t width) {
  const int64_t parts =
      whole.activation == Activation::none ? divide_up(whole.units, kMostUnits) : 1;
  MatmulTask task = whole;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = whole.units * part / parts, end = whole.units * (part + 1) / parts;
    task.x = whole.x + begin;
    task.panel = whole.panel + begin * width;
    task.next = part + 1 < parts ? whole.panel + end * width : whole.next;
    task.units = end - begin;
    matmul(task);
    task.add = true;
    task.bias = kNoBias;
  }
}

int64_t per_unit(Precision precision) {
  return precision == Precision::f32    ? 1
         : precision == Precision::bf16 ? 2
                                        : row_kernels().int8_per_unit;
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
  packed.bias.reserve(packed.n);
  float* bias = packed.bias.data();
  for (const Part& part : parts) bias = std::copy_n(part.bias, part.weight.rows, bias);
  if (precision == Precision::int8) return;
  packed.pack(pool, [&](int64_t column, Unit* to) {
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
  packed.bias.reserve(packed.n);
  std::ranges::copy(stored.bias, packed.bias.data());
  packed.keep_exact(stored.exact);
  const int64_t exact = std::ssize(stored.exact);
  packed.pack(pool, [&](int64_t column, Unit* to) {
    packed.keep_quantised(column, stored.q.data() + column * width, stored.scales[column], to);
    std::copy_n(stored.exact_weights.data() + column * exact, exact, to + packed.units);
  });
}

Linear::Stored Linear::stored() const {
  const Packed& packed = *packed_;
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, exact = std::ssize(packed.exact);
  const int64_t all = packed.units + exact;
  Stored stored{std::vector<int8_t>(packed.n * packed.k),
                {packed.column_scales.data(), packed.column_scales.data() + packed.n},
                {packed.bias.data(), packed.bias.data() + packed.n},
                packed.exact,
                std::vector<float>(packed.n * exact)};
  for (int64_t column = 0; column < packed.n; ++column) {
    const Unit* panel = packed.panels.data() + column / width * width * all + column % width;
    int8_t* q = stored.q.data() + column * packed.k;
    for (int64_t i = 0; i < packed.k; ++i) {
      // A byte, or the lower byte of a short.
      const int64_t unit = i / kernels.int8_per_unit, part = i % kernels.int8_per_unit;
      q[i] =
          reinterpret_cast<const int8_t*>(panel + unit * width)[part * 4 / kernels.int8_per_unit];
    }
    for (int64_t e = 0; e < exact; ++e) {
      stored.exact_weights[column * exact + e] = panel[(packed.units + e) * width];
    }
  }
  return stored;
}

// By measurement (Granite Rapids): where weights come from memory few rows are slower, 0.87, though
// many would be 1.2 to 1.5 times as fast; and all rows must be multiplied in the same way.
bool Linear::Packed::split() const {
  return precision == Precision::f32 && n * k <= kFewWeights && tile_kernels();
}

int64_t Linear::Packed::panels_count() const { return divide_up(n, row_kernels().panel_columns); }

const Unit* Linear::Packed::panel(int64_t i) const {
  return panels.data() + i * row_kernels().panel_columns * (units + std::ssize(exact));
}

void Linear::Packed::keep_exact(std::vector<int32_t> inputs) {
  exact = std::move(inputs);
  mask = mask_inputs(exact, k);
}

void Linear::Packed::keep_quantised(int64_t column, const int8_t* q, float scale, Unit* to) {
  column_scales.data()[column] = scale;
  column_sums[column] = std::accumulate(q, q + k, 0);
  row_kernels().pack_int8(q, k, to);
}

void Linear::quantise(ThreadPool& pool, const InputStatistics& statistics) {
  Packed& packed = *packed_;
  assert(packed.precision == Precision::int8 && !is_packed());
  packed.keep_exact(find_outliers(statistics));
  packed.pack(pool, [&](int64_t column, Unit* to) {
    const float* weights = packed.rows[column];
    const QuantisedRow row =
        quantise_row({weights, static_cast<size_t>(packed.k)}, packed.mask, statistics);
    packed.keep_quantised(column, row.q.data(), row.scale, to);
    packed.bias.data()[column] -= row.mean_error;
    for (size_t e = 0; e < packed.exact.size(); ++e) {
      to[packed.units + e] = weights[packed.exact[e]];
    }
  });
}

void Linear::Packed::pack(ThreadPool& pool, const FillRow& fill) {
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, columns_padded = panels_count() * width;
  units = split() ? divide_up(k, kSplitInputs) * kSplitInputs : divide_up(k, per_unit(precision));
  const int64_t all = units + std::ssize(exact);
  panels.reserve_beside_others(columns_padded * all);
  if (precision == Precision::int8) {
    column_scales.reserve(columns_padded);
    column_sums.resize(columns_padded);
  }
  pool.run(panels_count(), [&](int64_t i, int) {
    const int64_t begin = i * width, columns = std::min(width, n - begin);
    const bool as_stored = precision == Precision::f32;
    Buffer filled(as_stored ? 0 : columns * all);
    std::vector<const Unit*> sources;
    for (int64_t c = 0; c < columns; ++c) {
      if (!as_stored) fill(begin + c, filled.data() + c * all);
      sources.push_back(as_stored ? rows[begin + c] : filled.data() + c * all);
    }
    Unit* panel = panels.data() + begin * all;
    if (!split()) return kernels.pack_panel(sources.data(), columns, all, panel);
    const Buffer whole(width * k);
    kernels.pack_panel(sources.data(), columns, k, whole.data());
    tile_kernels()->split_panel(whole.data(), k, panel);
  });
  rows = {};
  owner.reset();
}

// x in the weights' precision, [T, units + exact], and for int8 the rows' scales after it.
const Unit* Linear::Packed::convert(ThreadPool& pool, ConstTensor x, Buffer& scratch) const {
  if (precision == Precision::f32) return x.data;
  const Timed timed(Step::convert);
  const RowKernels& kernels = row_kernels();
  const int64_t all = units + std::ssize(exact);
  static_assert(sizeof(RowScale) == 2 * sizeof(Unit));
  scratch.reserve(x.rows * (all + 2));
  Unit* to = scratch.data();
  auto* scales = reinterpret_cast<RowScale*>(to + x.rows * all);
  constexpr int64_t kRowBlock = 16;
  pool.run(divide_up(x.rows, kRowBlock), [&](int64_t block, int) {
    for (int64_t i = block * kRowBlock; i < std::min(x.rows, (block + 1) * kRowBlock); ++i) {
      const float* row = x.row(i);
      if (precision == Precision::bf16) {
        kernels.round_bf16(row, k, to + i * all);
        continue;
      }
      scales[i] =
          kernels.quantise_inputs(row, mask.empty() ? nullptr : mask.data(), k, to + i * all);
      for (size_t e = 0; e < exact.size(); ++e) to[i * all + units + e] = row[exact[e]];
    }
  });
  return to;
}

void Linear::run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y, bool add) const {
  assert(x.columns == width() && y.columns == columns() && x.rows == y.rows);
  assert(is_packed());
  const Packed& w = *packed_;
  const RowKernels& kernels = row_kernels();
  const Unit* inputs = w.convert(pool, x, scratch);
  const Timed timed(Step::linear);
  const int64_t width = kernels.panel_columns, panels = w.panels_count();
  const int64_t exact = std::ssize(w.exact), all = w.units + exact;
  const bool int8 = w.precision == Precision::int8;
  const auto* scales = int8 ? reinterpret_cast<const RowScale*>(inputs + x.rows * all) : nullptr;
  const bool split = w.split();
  const auto matmul =
      split ? tile_kernels()->matmul_split : kernels.matmul[static_cast<int>(w.precision)];
  assert(width <= std::ssize(kNoBias));
  const RowBlocks blocks(x.rows, panels, w.n * w.k <= kFewWeights, split, pool.threads());
  const int64_t count = blocks.count() * panels;
  // The panel that a worker reads after its i-th task: its next, or the first of what runs next.
  const auto after = [&](int64_t i, int worker) {
    const bool ends = i + 1 == count || i + 1 == pool.first_of(worker + 1, count);
    if (!ends) return w.panel((i + 1) % panels);
    const Packed& next = w.next && w.next->units > 0 ? *w.next : w;
    const int64_t first = pool.first_of(worker, blocks.count() * next.panels_count());
    return next.panel(first % next.panels_count());
  };
  std::optional<Splits> splits;
  const int64_t split_units = w.units * kSplitParts / 2;
  if (split) splits.emplace(x, blocks, split_units, scratch, pool.threads());
  // A thread mostly gets neighbouring panels, each of which fetches the next.
  pool.run(count, [&](int64_t i, int worker) {
    const int64_t first = blocks.begin(i / panels), column = i % panels * width;
    MatmulTask task{inputs + first * all,
                    w.panel(i % panels),
                    after(i, worker),
                    w.bias.data() + column,
                    y.row(first) + column,
                    blocks.begin(i / panels + 1) - first,
                    w.units,
                    std::min(width, w.n - column),
                    all,
                    w.n,
                    w.activation,
                    add};
    if (split) {
      task.x = splits->of(i / panels, worker);
      task.x_stride = split_units;
      return matmul(task);
    }
    if (int8) {
      task.exact = exact;
      task.row_scales = scales + first;
      task.column_scales = w.column_scales.data() + column;
      task.column_sums = w.column_sums.data() + column;
      return matmul(task);
    }
    multiply_in_parts(matmul, task, width);
  });
}

void multiply_in_place(ThreadPool& pool, ConstTensor x, ConstTensor weight, const float* bias,
                       Tensor y) {
  assert(x.columns == weight.columns && y.columns == weight.rows && x.rows == y.rows);
  const Timed timed(Step::linear);
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, each = (width * x.columns + 15) / 16 * 16;
  Buffer panels(each * pool.threads());
  pool.run(divide_up(weight.rows, width), [&](int64_t i, int worker) {
    const int64_t first = i * width, columns = std::min(width, weight.rows - first);
    float* panel = panels.data() + worker * each;
    std::vector<const Unit*> rows;
    for (int64_t c = 0; c < columns; ++c) rows.push_back(weight.row(first + c));
    kernels.pack_panel(rows.data(), columns, x.columns, panel);
    kernels.matmul[static_cast<int>(Precision::f32)](
        {x.data, panel, panel, bias + first, y.data + first, x.rows, x.columns, columns, x.columns,
         y.columns, Activation::none, false});
  });
}

double bf16_speed() {
  constexpr int64_t kRows = 24, kWidth = 512;
  const RowKernels& kernels = row_kernels();
  const int64_t columns = kernels.panel_columns;
  const Buffer x(kRows * kWidth), panel(kWidth * columns), bias(columns), y(kRows * columns);
  double best[2] = {1, 1};
  for (int round = 0; round < 12; ++round) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      const auto begin = std::chrono::steady_clock::now();
      kernels.matmul[static_cast<int>(precision)](
          {x.data(), panel.data(), panel.data(), bias.data(), y.data(), kRows,
           kWidth / per_unit(precision), columns, kWidth / per_unit(precision), columns,
           Activation::none, false});
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      double& least = best[precision == Precision::bf16];
      least = std::min(least, seconds.count());
    }
  }
  return best[0] / best[1];
}

}  // namespace bert::engine
