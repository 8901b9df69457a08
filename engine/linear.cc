// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include <numeric>

#include "engine/profile.h"
#include "engine/rows.h"

namespace bert::engine {
namespace {

int64_t divide_up(int64_t n, int64_t step) { return (n + step - 1) / step; }

// How a product is shared out: blocks of rows that stay in a core's second-level cache, and within
// them runs of neighbouring panels, each of which fetches the next.
struct Shares {
  int64_t height, blocks;
  int64_t run, runs;

  Shares(int64_t rows, int64_t panels, int threads) {
    constexpr int64_t kMostRows = 240, kTiles = 24;  // kTiles: a multiple of every kernel's tile
    blocks = divide_up(rows, kMostRows);
    // Enough for all threads to end at about the same time.
    const int64_t wanted = threads == 1 ? 1 : int64_t{4} * threads;
    while (blocks * panels < threads && divide_up(rows, blocks) > kTiles) ++blocks;
    height = divide_up(divide_up(rows, blocks), kTiles) * kTiles;
    blocks = divide_up(rows, height);
    run = divide_up(panels, std::min(panels, divide_up(wanted, blocks)));
    runs = divide_up(panels, run);
  }
};

int64_t per_unit(Precision precision) {
  return precision == Precision::f32    ? 1
         : precision == Precision::bf16 ? 2
                                        : row_kernels().int8_per_unit;
}

}  // namespace

Linear::Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation,
               Precision precision)
    : k_(parts.front().weight.columns), activation_(activation), precision_(precision) {
  std::vector<const float*> rows;
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.weight.rows; ++i) rows.push_back(part.weight.row(i));
  }
  n_ = std::ssize(rows);
  bias_.reserve(n_);
  float* bias = bias_.data();
  for (const Part& part : parts) bias = std::copy_n(part.bias, part.weight.rows, bias);
  pack(pool, rows);
}

void Linear::pack(ThreadPool& pool, const std::vector<const float*>& rows) {
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, panels = divide_up(n_, width);
  units_ = divide_up(k_, per_unit(precision_));
  panels_.reserve(panels * units_ * width);
  if (precision_ == Precision::int8) {
    column_scales_.reserve(panels * width);
    column_sums_.resize(panels * width);
  }
  pool.run(panels, [&](int64_t i, int) {
    const int64_t begin = i * width, columns = std::min(width, n_ - begin);
    std::vector<const Unit*> sources(rows.begin() + begin, rows.begin() + begin + columns);
    Buffer converted(precision_ == Precision::f32 ? 0 : columns * units_);
    std::vector<int8_t> q(precision_ == Precision::int8 ? k_ : 0);
    for (int64_t c = 0; c < columns && precision_ != Precision::f32; ++c) {
      Unit* to = converted.data() + c * units_;
      if (precision_ == Precision::bf16) {
        kernels.round_bf16(sources[c], k_, to);
      } else {
        column_scales_.data()[begin + c] =
            kernels.quantise_weights(sources[c], nullptr, k_, q.data());
        column_sums_[begin + c] = std::accumulate(q.begin(), q.end(), 0);
        kernels.pack_int8(q.data(), k_, to);
      }
      sources[c] = to;
    }
    kernels.pack_panel(sources.data(), columns, units_, panels_.data() + begin * units_);
  });
}

void Linear::run(ThreadPool& pool, ConstTensor x, Buffer& scratch, Tensor y, bool add) const {
  assert(x.columns == k_ && y.columns == n_ && x.rows == y.rows);
  const RowKernels& kernels = row_kernels();
  const Inputs inputs = convert(pool, x, scratch);
  const Timed timed(Step::linear);
  const int64_t width = kernels.panel_columns, panels = divide_up(n_, width);
  const auto matmul = kernels.matmul[static_cast<int>(precision_)];
  const Shares shares(x.rows, panels, pool.threads());
  pool.run(shares.blocks * shares.runs, [&](int64_t share, int) {
    const int64_t first = share / shares.runs * shares.height;
    const int64_t begin = share % shares.runs * shares.run;
    for (int64_t i = begin; i < std::min(begin + shares.run, panels); ++i) {
      const int64_t column = i * width;
      matmul({inputs.rows + first * units_, panels_.data() + column * units_,
              panels_.data() + (column + width) * units_, bias_.data() + column,
              y.row(first) + column, std::min(shares.height, x.rows - first), units_,
              std::min(width, n_ - column), n_, activation_, add, inputs.scales + first,
              column_scales_.data() + column, column_sums_.data() + column});
    }
  });
}

// x in the weights' precision: for f32 as it is.
Linear::Inputs Linear::convert(ThreadPool& pool, ConstTensor x, Buffer& scratch) const {
  if (precision_ == Precision::f32) return {x.data, nullptr};
  const Timed timed(Step::convert);
  const RowKernels& kernels = row_kernels();
  static_assert(sizeof(RowScale) == 2 * sizeof(float));
  scratch.reserve(x.rows * (units_ + 2));
  Unit* units = scratch.data();
  auto* scales = reinterpret_cast<RowScale*>(units + x.rows * units_);
  constexpr int64_t kRowBlock = 16;
  pool.run(divide_up(x.rows, kRowBlock), [&](int64_t block, int) {
    for (int64_t i = block * kRowBlock; i < std::min(x.rows, (block + 1) * kRowBlock); ++i) {
      if (precision_ == Precision::bf16) {
        kernels.round_bf16(x.row(i), k_, units + i * units_);
      } else {
        scales[i] = kernels.quantise_inputs(x.row(i), nullptr, k_, units + i * units_);
      }
    }
  });
  return {units, scales};
}

}  // namespace bert::engine
