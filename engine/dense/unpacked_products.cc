// SPDX-License-Identifier: Apache-2.0
//
// Products without a Linear: with weights that are read in place, and for measuring.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <vector>

#include "engine/dense/linear.h"
#include "engine/profile.h"

namespace bert::engine {
namespace {

// Calls multiply(task, first, worker) for each panel of the weights, the columns from `first` on,
// with all rows of x. The task lacks only y and its stride.
template <typename Multiply>
void for_each_panel(Team& team, const Product& product, ConstTensor x, const Table& weight,
                    const float* bias, const Multiply& multiply) {
  assert(x.columns == weight.columns && product.precision == Precision::f32 &&
         !product.panel.split);
  const int64_t width = product.panel.columns;
  const int64_t panel_size = whole_lines(panel_words(product.panel, x.columns));
  const Buffer panels(panel_size * team.threads());
  const bool widens = weight.type != FloatType::f32;
  const int64_t room_size = widens ? whole_lines(width * x.columns) : 0;
  const Buffer rooms(room_size * team.threads());
  team.run(divide_up(weight.rows, width), [&](int64_t i, int worker) {
    const int64_t first = i * width, columns = std::min(width, weight.rows - first);
    Word32* panel = as_words(panels.data()) + worker * panel_size;
    std::vector<const Word32*> rows;
    for (int64_t c = 0; c < columns; ++c) {
      float* const room = widens ? rooms.data() + worker * room_size + c * x.columns : nullptr;
      rows.push_back(as_words(weight.row(first + c, room)));
    }
    pack_panel(product.panel, rows.data(), columns, x.columns, panel);
    multiply({.x = as_words(x.data),
              .panel = panel,
              .next = panel,
              .bias = bias + first,
              .rows = x.rows,
              .words = x.columns,
              .columns = columns,
              .x_stride = x.columns},
             first, worker);
  });
}

}  // namespace

void multiply_in_place(Team& team, const Product& product, ConstTensor x, const Table& weight,
                       const float* bias, Tensor y) {
  assert(y.columns == weight.rows && x.rows == y.rows);
  const Timed timed(Step::linear);
  for_each_panel(team, product, x, weight, bias, [&](MatmulTask task, int64_t first, int) {
    task.y = y.data + first;
    task.y_stride = y.columns;
    product.multiply(task);
  });
}

void multiply_in_place(Team& team, const Product& product, ConstTensor x, const Table& weight,
                       const float* bias, const TakeBlock& take) {
  const Timed timed(Step::linear);
  constexpr int64_t kRows = 240;  // they stay in a core's second-level cache beside a panel
  const int64_t block_size = kRows * product.panel.columns;
  const Buffer blocks(block_size * team.threads());
  for_each_panel(team, product, x, weight, bias, [&](MatmulTask task, int64_t first, int worker) {
    task.y = blocks.data() + worker * block_size;
    task.y_stride = task.columns;
    for (int64_t row = 0; row < x.rows; row += kRows) {
      task.x = as_words(x.row(row));
      task.rows = std::min(kRows, x.rows - row);
      product.multiply(task);
      take(row, first, {task.y, task.rows, task.columns});
    }
  });
}

double bf16_speed() {
  const Product& bf16 = pick_product(Precision::bf16);
  constexpr int64_t kRows = 24, kPaddedRows = 32, kWidth = 512;
  const Product& whole = pick_layer_product(Precision::f32, Backend::automatic);
  const Product* const halved = whole.halved(kWidth);
  const Product& f32 = halved ? *halved : whole;
  const int64_t columns = std::max(bf16.panel.columns, f32.panel.columns);
  const Buffer x(kPaddedRows * split_words(kWidth)), panel(kWidth * columns), bias(columns),
      y(kRows * columns);
  // The shortest of several times, as interruptions only add.
  double f32_seconds = 1, bf16_seconds = 1;
  for (int round = 0; round < 12; ++round) {
    for (const Product* product : {&f32, &bf16}) {
      const int64_t words = words_of(product->precision, product->panel.int8, kWidth);
      const int64_t row_words = product->panel.split ? split_words(kWidth) : words;
      const MatmulTask task{.x = as_words(x.data()),
                            .panel = as_words(panel.data()),
                            .next = as_words(panel.data()),
                            .bias = bias.data(),
                            .y = y.data(),
                            .rows = kRows,
                            .words = words,
                            .columns = product->panel.columns,
                            .x_stride = row_words,
                            .y_stride = columns};
      const auto begin = std::chrono::steady_clock::now();
      product->multiply(task);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      const double each = seconds.count() / static_cast<double>(task.columns);
      double& least = product == &bf16 ? bf16_seconds : f32_seconds;
      least = std::min(least, each);
    }
  }
  return f32_seconds / bf16_seconds;
}

}  // namespace bert::engine
