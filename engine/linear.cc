// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include <vector>

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

}  // namespace

Linear::Linear(ThreadPool& pool, std::span<const Part> parts, Activation activation)
    : k_(parts.front().weight.columns), activation_(activation) {
  std::vector<const float*> rows;
  for (const Part& part : parts) {
    for (int64_t i = 0; i < part.weight.rows; ++i) rows.push_back(part.weight.row(i));
  }
  n_ = std::ssize(rows);
  bias_.reserve(n_);
  float* bias = bias_.data();
  for (const Part& part : parts) bias = std::copy_n(part.bias, part.weight.rows, bias);

  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, panels = divide_up(n_, width);
  panels_.reserve(panels * k_ * width);
  pool.run(panels, [&](int64_t i, int) {
    const int64_t begin = i * width;
    kernels.pack_panel(rows.data() + begin, std::min(width, n_ - begin), k_,
                       panels_.data() + begin * k_);
  });
}

void Linear::run(ThreadPool& pool, ConstTensor x, Tensor y, bool add) const {
  assert(x.columns == k_ && y.columns == n_ && x.rows == y.rows);
  const Timed timed(Step::linear);
  const RowKernels& kernels = row_kernels();
  const int64_t width = kernels.panel_columns, panels = divide_up(n_, width);
  const Shares shares(x.rows, panels, pool.threads());
  pool.run(shares.blocks * shares.runs, [&](int64_t share, int) {
    const int64_t first = share / shares.runs * shares.height;
    const int64_t begin = share % shares.runs * shares.run;
    for (int64_t i = begin; i < std::min(begin + shares.run, panels); ++i) {
      const int64_t column = i * width;
      kernels.matmul({x.row(first), panels_.data() + column * k_,
                      panels_.data() + (column + width) * k_, bias_.data() + column,
                      y.row(first) + column, std::min(shares.height, x.rows - first), k_,
                      std::min(width, n_ - column), n_, activation_, add});
    }
  });
}

}  // namespace bert::engine
