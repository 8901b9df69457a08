// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/linear.h"

#include <algorithm>
#include <bit>
#include <cassert>
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

}  // namespace

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

}  // namespace bert::engine
