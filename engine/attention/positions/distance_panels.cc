// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/positions/distance_panels.h"

#include <algorithm>
#include <vector>

#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

DistancePanels::DistancePanels(Team& team, int64_t rows, int64_t width,
                               const std::function<const float*(int64_t i)>& row)
    : width_(width) {
  const KernelTable& kernels = best_kernels();
  const int64_t step = kernels.panels.columns, panels = divide_up(rows, step);
  padded_ = panels * step;
  panels_.resize_discarding(padded_ * width);
  zeros_.resize_discarding(step);
  team.run(panels, [&](int64_t i, int) {
    std::vector<const Word32*> each;
    for (int64_t r = i * step; r < std::min(rows, (i + 1) * step); ++r) {
      each.push_back(as_words(row(r)));
    }
    kernels.pack_panel(each.data(), std::ssize(each), width, step,
                       as_words(panels_.data()) + i * step * width);
  });
}

DistancePanels::Columns DistancePanels::columns(int64_t least, int64_t most) const {
  const int64_t step = best_kernels().panels.columns, first = least / step * step;
  return {.first = first, .count = round_up(most + 1 - first, step)};
}

int64_t DistancePanels::most_columns(int64_t rows) const {
  const int64_t step = best_kernels().panels.columns;
  return std::min(padded_, round_up(rows, step) + step);
}

void DistancePanels::multiply(const float* x, int64_t stride, int64_t count, Columns columns,
                              float* copy, float* y) const {
  const KernelTable& kernels = best_kernels();
  for (int64_t i = 0; i < count; ++i) std::copy_n(x + i * stride, width_, copy + i * width_);
  for (int64_t c = 0; c < columns.count; c += kernels.panels.columns) {
    const Word32* panel = as_words(panels_.data()) + (columns.first + c) * width_;
    kernels.matmul_f32({.x = as_words(copy),
                        .panel = panel,
                        .next = panel,
                        .bias = zeros_.data(),
                        .y = y + c,
                        .rows = count,
                        .words = width_,
                        .columns = kernels.panels.columns,
                        .x_stride = width_,
                        .y_stride = columns.count});
  }
}

}  // namespace bert::engine
