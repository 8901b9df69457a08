// SPDX-License-Identifier: Apache-2.0
//
// f32 products with weights that are bf16, two of which share a word of a panel.
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/dense/linear.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/kernels/tested_kernels.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

std::vector<const Product*> f32_panels() {
  std::vector<const Product*> all;
  for (const KernelTable* kernels : tested_kernels()) {
    all.push_back(&panel_product(Precision::f32, *kernels));
    if (const Product* split = split_product(*kernels)) all.push_back(split);
  }
  // The tiles of AMX multiply f32 only as split_product() does.
  std::erase_if(all, [](const Product* p) { return !p->halved(32); });
  return all;
}

std::vector<float> random_bf16(int64_t count, float range, int seed) {
  std::vector<float> floats = random_floats(count, range, seed);
  for (float& each : floats) {
    each = std::bit_cast<float>(std::bit_cast<uint32_t>(each) & 0xffff0000);
  }
  return floats;
}

bool is_halved(const Linear& linear) { return linear.product().panel.halved; }

// A Linear of bf16 weights [columns, inputs], and the same with a last column that is not bf16.
struct Pair {
  Pair(const Product& product, int64_t inputs, int64_t columns, Activation activation)
      : weight(random_bf16(columns * inputs, 0.1f, 1)),
        other(random_floats(inputs, 0.1f, 2)),
        bias(random_floats(columns + 1, 1, 3)),
        halved(team, std::vector{part(inputs, columns)}, activation, product),
        whole(team, std::vector{part(inputs, columns), last(inputs, columns)}, activation,
              product) {}
  Linear::Part part(int64_t inputs, int64_t columns) const {
    return {{weight.data(), columns, inputs}, bias.data()};
  }
  Linear::Part last(int64_t inputs, int64_t columns) const {
    return {{other.data(), 1, inputs}, bias.data() + columns};
  }
  std::vector<float> weight, other, bias;
  Scheduler scheduler{2};
  Team team{scheduler};
  Linear halved, whole;
};

void expect_same_bits(const Product& product, int64_t inputs, int64_t columns,
                      Activation activation) {
  Pair pair(product, inputs, columns, activation);
  ASSERT_TRUE(is_halved(pair.halved));
  ASSERT_FALSE(is_halved(pair.whole));
  for (const int64_t rows : {1, 2, 6, 7, 12, 13, 24, 25, 33, 130, 257}) {
    const std::vector<float> input = random_floats(rows * inputs, 1, 4);
    const ConstTensor x = {input.data(), rows, inputs};
    Buffer scratch, y_memory, expected_memory;
    const Tensor y = y_memory.tensor(rows, columns),
                 expected = expected_memory.tensor(rows, columns + 1);
    pair.halved.run(pair.team, x, scratch, y);
    pair.whole.run(pair.team, x, scratch, expected);
    for (int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(std::memcmp(y.row(i), expected.row(i), columns * sizeof(float)), 0)
          << rows << "x" << inputs << "x" << columns << " at row " << i;
    }
  }
}

TEST(HalvedPanels, GiveTheBitsOfWholeOnes) {
  ASSERT_FALSE(f32_panels().empty());
  for (const Product* product : f32_panels()) {
    SCOPED_TRACE(product->name());
    for (const int64_t inputs : {32, 96, 160, 768}) {
      for (const int64_t columns : {1, 37, 64, 130}) {
        expect_same_bits(*product, inputs, columns, Activation::gelu);
      }
    }
    expect_same_bits(*product, 160, 649, Activation::gelu);  // with enough columns to interleave
    // In parts, which begin at multiples of 32 inputs.
    for (const int64_t inputs : {3072, 4096}) {
      expect_same_bits(*product, inputs, 37, Activation::none);
      expect_same_bits(*product, inputs, 649, Activation::none);
    }
  }
}

TEST(HalvedPanels, AddInSlices) {
  constexpr int64_t kInputs = 96, kColumns = 37, kRows = 50, kSlices = 3;
  for (const Product* product : f32_panels()) {
    SCOPED_TRACE(product->name());
    Pair pair(*product, kInputs, kColumns, Activation::none);
    const std::vector<float> input = random_floats(kRows * kInputs / kSlices, 1, 4);
    const ConstTensor x = {input.data(), kRows, kInputs / kSlices};
    std::vector<float> y(kRows * kColumns), expected(kRows * (kColumns + 1));
    Buffer scratch;
    for (Linear::Slice slice{0, kSlices}; slice.index < kSlices; ++slice.index) {
      pair.halved.run_add(pair.team, x, scratch, {y.data(), kRows, kColumns}, slice);
      pair.whole.run_add(pair.team, x, scratch, {expected.data(), kRows, kColumns + 1}, slice);
    }
    for (int64_t i = 0; i < kRows; ++i) {
      EXPECT_EQ(std::memcmp(&y[i * kColumns], &expected[i * (kColumns + 1)], kColumns * 4), 0) << i;
    }
  }
}

TEST(HalvedPanels, TakeHalfTheMemory) {
  for (const Product* product : f32_panels()) {
    EXPECT_EQ(2 * panel_words(product->halved(768)->panel, 768), panel_words(product->panel, 768));
    EXPECT_THAT(product->halved(768)->name(), testing::EndsWith(", of bf16 weights"));
  }
}

TEST(HalvedPanels, HoldOnlyWhatIsBf16) {
  const Product& product = *f32_panels().front();
  Scheduler scheduler(1);
  Team team(scheduler);
  const std::vector<float> bias(3);
  const auto linear = [&](std::vector<float> weight, const Product& of) {
    const Linear::Part part{{weight.data(), 3, std::ssize(weight) / 3}, bias.data()};
    return Linear(team, {&part, 1}, Activation::none, of);
  };
  std::vector<float> weight = random_bf16(3 * 64, 0.1f, 1);
  weight[5] = -0.0f;
  EXPECT_TRUE(is_halved(linear(weight, product)));
  for (const uint32_t bits : {0x3dcccccdu, 0x3f800001u, 0x00010000u, 0x80400000u}) {
    std::vector<float> other = weight;
    other[170] = std::bit_cast<float>(bits);
    EXPECT_FALSE(is_halved(linear(other, product))) << std::hex << bits;
  }
  EXPECT_FALSE(is_halved(linear(random_bf16(3 * 70, 0.1f, 1), product)));
  EXPECT_FALSE(is_halved(linear(weight, pick_product(Precision::bf16, Backend::panels))));
}

}  // namespace
}  // namespace bert::engine
