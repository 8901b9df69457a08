// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/linear.h"

#include <algorithm>
#include <cassert>

#include "engine/profile.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

// 512 KiB in f32: small enough for all threads to read them all, and to stay in cache between runs.
constexpr int64_t kFewWeights = 128 << 10;

// Divides the rows of a product into blocks whose height follows the second-level cache: 240 with 1
// MiB, where 60 took 2 % longer and 480 1 %. Interleaved rows may come from the third (512 KiB, Zen
// 3: 240 are 1 to 5 % faster than 120). Rows are independent, so the height changes no bits. Where
// it costs little, each thread gets as many blocks, all nearly as high, and so finds the same rows
// in its own cache from one product to the next (2 threads: 3 to 9 % faster).
class RowBlocks {
 public:
  // row_words: of a row that tiles read, 0 otherwise.
  RowBlocks(int64_t rows, int64_t row_words, bool interleaved, int64_t panels, bool few_weights,
            int64_t step, int threads)
      : rows_(rows), step_(step), count_(divide_up(rows, max_rows(row_words, interleaved))) {
    const int64_t even = round_up(count_, threads);
    if (divide_up(rows, even) >= (few_weights ? kMinRows : kMinRowsOfManyWeights)) count_ = even;
    while (count_ * panels < threads && divide_up(rows, count_) > kMinRows) ++count_;
  }
  int64_t count() const { return count_; }
  int64_t begin(int64_t i) const {
    return i == count_ ? rows_ : rows_ * i / count_ / step_ * step_;
  }

 private:
  static constexpr int64_t kMinRowsOfManyWeights = 96, kMinRows = 24;
  // Tiles multiply so fast that their rows have to stay in half of the cache beside the panels.
  static int64_t max_rows(int64_t row_words, bool interleaved) {
    const int64_t cache = second_level_cache();
    const int64_t usual = std::clamp<int64_t>(240 * cache >> 20, interleaved ? 240 : 132, 480);
    return row_words == 0 ? usual : std::clamp<int64_t>(cache / 8 / row_words, 64, usual);
  }
  int64_t rows_, step_, count_;
};

}  // namespace

void Linear::run(Team& team, ConstTensor x, Buffer& scratch, Tensor y, const Into& into) const {
  const Packed& w = *packed_;
  const Product& product = *w.product;
  const Panels part{w, into.columns, into.inputs}, next = after(into);
  const int64_t width = product.panel.columns, panels = part.count();
  assert(is_packed() && x.rows == y.rows && x.columns == w.k / into.inputs.count);
  assert(y.columns >= into.column + w.n / into.columns.count);
  ConvertedRows inputs{.words = as_words(x.data), .stride = x.columns};
  if (w.converts()) inputs = w.convert(team, x, part.words(), scratch);
  const int64_t wide_floats = w.widens() ? part.words() * width : 0;
  const int64_t all_wide_floats = whole_lines(team.threads() * wide_floats);
  if (w.widens()) scratch.resize_discarding(all_wide_floats);
  if (w.interleaves(x.rows, panels)) inputs = w.interleave(team, x, all_wide_floats, scratch);
  const Timed timed(Step::linear);
  const RowBlocks blocks(x.rows, product.panel.tiles ? inputs.stride : 0, inputs.interleaved,
                         panels, w.n * w.k <= kFewWeights, product.panel.row_step, team.threads());
  const int64_t count = blocks.count() * panels;
  // The panel that a worker reads after task i: its next one, or its first one of the next product.
  const auto panel_after = [&](int64_t i, int worker) {
    const bool ends = i + 1 == count || i + 1 == team.first_of(worker + 1, count);
    if (!ends) return part.panel((i + 1) % panels);
    return next.panel(team.first_of(worker, blocks.count() * next.count()) % next.count());
  };
  // A thread usually gets neighbouring panels, each of which prefetches the next.
  team.run(count, [&](int64_t i, int worker) {
    const int64_t block = i / panels, first = blocks.begin(block), column = i % panels * width;
    MatmulTask task{
        .x = inputs.words + first * inputs.stride,
        .panel = part.panel(i % panels),
        .next = panel_after(i, worker),
        .bias = into.inputs.index > 0 ? kNoBias : w.bias.data() + part.first() * width + column,
        .y = y.row(first) + into.column + column,
        .rows = blocks.begin(block + 1) - first,
        .words = part.words(),
        .columns = std::min(width, w.n - part.first() * width - column),
        .x_stride = inputs.stride,
        .y_stride = y.columns,
        .activation = w.activation,
        .add = into.add,
        .multiply = into.multiply,
        .interleaved = inputs.interleaved,
        .widened = scratch.data() + worker * wide_floats};
    if (product.precision == Precision::int8) w.add_scales(inputs, first, column, task);
    product.multiply(task);
  });
}

}  // namespace bert::engine
