// SPDX-License-Identifier: Apache-2.0
//
// Linears that write some columns of a matrix, and those that compute the columns between them in
// slices.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "engine/dense/linear.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/kernels/tested_kernels.h"
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

// y [rows, kOut] += V gelu(W x + b) + c, with the kWide columns between the two in `count` slices,
// which must be those of the whole.
constexpr int64_t kIn = 70, kWide = 192, kOut = 45;
std::vector<float> sliced(const Product& product, int64_t rows, int threads, int64_t count) {
  const std::vector<float> w = random_floats(kWide * kIn, 0.2f, 1), b = random_floats(kWide, 1, 2),
                           v = random_floats(kOut * kWide, 0.1f, 3), c = random_floats(kOut, 1, 4),
                           input = random_floats(rows * kIn, 1, 5);
  Scheduler scheduler(threads);
  Team team(scheduler);
  const Linear::Part part{{w.data(), kWide, kIn}, b.data()},
      last{{v.data(), kOut, kWide}, c.data()};
  Linear first(team, {&part, 1}, Activation::gelu, product),
      second(team, {&last, 1}, Activation::none, product);
  first.set_prefetch_target(second);
  second.set_slice_target(first);
  const ConstTensor x = {input.data(), rows, kIn};
  Buffer scratch, whole_memory, wide_memory;
  const Tensor whole = whole_memory.tensor(rows, kWide),
               wide = wide_memory.tensor(rows, kWide / count);
  first.run(team, x, scratch, whole);
  std::vector<float> y = random_floats(rows * kOut, 1, 6);
  for (Linear::Slice slice{0, count}; slice.index < count; ++slice.index) {
    first.run(team, x, scratch, wide, slice);
    for (int64_t i = 0; i < rows; ++i) {
      const float* expected = whole.row(i) + slice.index * wide.columns;
      EXPECT_EQ(std::memcmp(wide.row(i), expected, wide.columns * sizeof(float)), 0) << i;
    }
    second.run_add(team, wide, scratch, {y.data(), rows, kOut}, slice);
  }
  return y;
}

TEST(Linear, SlicesAddUp) {
  std::vector<const Product*> products;
  for (const KernelTable* kernels : tested_kernels()) {
    products.push_back(split_product(*kernels));
    products.push_back(&panel_product(Precision::bf16, *kernels));
  }
  std::erase_if(products, [](const Product* p) { return !p || !p->panel.tiles; });
  if (products.empty()) GTEST_SKIP() << "no matrix tiles, nor vectors to emulate them with";
  for (const Product* product : products) {
    SCOPED_TRACE(product->name());
    const std::vector<float> whole = sliced(*product, 300, 1, 1),
                             three = sliced(*product, 300, 1, 3);
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(three[i], whole[i], 2e-5) << i;
    for (const int64_t rows : {1, 33, 299}) {  // the same bits at any height
      const std::vector<float> some = sliced(*product, rows, 2, 3);
      EXPECT_EQ(std::memcmp(some.data(), three.data(), some.size() * sizeof(float)), 0) << rows;
    }
  }
}

TEST(Product, SlicesAreWholePanels) {
  for (const KernelTable* kernels : tested_kernels()) {
    if (const Product* product = split_product(*kernels)) {
      EXPECT_EQ(product->slices(3072), 4);
      EXPECT_EQ(product->slices(1536), 2);
      EXPECT_EQ(product->slices(2624), 2);  // 82 panels
      EXPECT_EQ(product->slices(1568), 1);  // 49
      EXPECT_EQ(product->slices(37), 1);
    }
    const Product &bf16 = panel_product(Precision::bf16, *kernels),
                  &int8 = panel_product(Precision::int8, *kernels);
    EXPECT_EQ(bf16.slices(3072), bf16.panel.tiles ? 2 : 1);
    EXPECT_EQ(int8.slices(3072), 1);
  }
}

}  // namespace
}  // namespace bert::engine
