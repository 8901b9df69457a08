// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "engine/dense/linear.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

// Some columns of a wider matrix get the bits of run(), and the others stay as they are.
void expect_columns(const Product& product, int64_t rows, int64_t first) {
  SCOPED_TRACE(product.name());
  constexpr int64_t kInputs = 70, kColumns = 45, kAfter = 6;
  const std::vector<float> weight = random_floats(kColumns * kInputs, 0.1f, 1),
                           bias = random_floats(kColumns, 1, 2),
                           input = random_floats(rows * kInputs, 1, 3);
  Scheduler scheduler(2);
  Team team(scheduler);
  const Linear::Part part{{weight.data(), kColumns, kInputs}, bias.data()};
  Linear linear(team, {&part, 1}, Activation::none, product);
  if (product.precision == Precision::int8) {
    linear.quantise(team, measure_inputs({input.data(), rows, kInputs}));
  }
  const ConstTensor x = {input.data(), rows, kInputs};
  Buffer scratch, alone_memory, wide_memory;
  const Tensor alone = alone_memory.tensor(rows, kColumns);
  const Tensor wide = wide_memory.tensor(rows, first + kColumns + kAfter);
  std::fill_n(wide.data, wide.size(), 7.0f);
  linear.run(team, x, scratch, alone);
  linear.run_columns(team, x, scratch, wide, first);
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_EQ(std::memcmp(wide.row(i) + first, alone.row(i), kColumns * sizeof(float)), 0) << i;
    EXPECT_EQ(std::count(wide.row(i), wide.row(i) + wide.columns, 7.0f), first + kAfter) << i;
  }
}

TEST(Linear, WritesColumnsOfAWiderMatrix) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    for (const Product* product : {&pick_layer_product(precision, Backend::panels),
                                   micro_kernel_product(precision), matmul_product(precision)}) {
      if (!product) continue;
      for (const int64_t rows : {1, 5, 40}) {
        for (const int64_t first : {0, 32, 45}) expect_columns(*product, rows, first);
      }
    }
  }
}

}  // namespace
}  // namespace bert::engine
