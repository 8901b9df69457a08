// SPDX-License-Identifier: Apache-2.0
//
// f32 products with weights that are bf16 or f16, two of which share a word of a panel.
#include <bit>
#include <cmath>
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

constexpr FloatType kTypes[] = {FloatType::bf16, FloatType::f16};

std::vector<const Product*> f32_panels(FloatType type) {
  std::vector<const Product*> all;
  for (const KernelTable* kernels : tested_kernels()) {
    all.push_back(&panel_product(Precision::f32, *kernels));
    if (const Product* split = split_product(*kernels)) all.push_back(split);
  }
  // The tiles of AMX multiply f32 only as split_product() does.
  std::erase_if(all, [type](const Product* p) { return !p->halved(32, type); });
  return all;
}

// Of f16, one in eight is subnormal.
std::vector<float> random_narrow(FloatType type, int64_t count, float range, int seed) {
  std::vector<float> floats = random_floats(count, range, seed);
  for (size_t i = 0; i < floats.size(); ++i) {
    if (type == FloatType::f16 && i % 8 == 5) {
      floats[i] = std::fmod(std::round(floats[i] / range * 1000), 1024.0f) * 0x1p-24f;
      continue;
    }
    const uint32_t kept = type == FloatType::f16 ? 0xffffe000 : 0xffff0000;
    floats[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(floats[i]) & kept);
    if (type == FloatType::f16 && std::abs(floats[i]) < 0x1p-14f) floats[i] = 0;
  }
  return floats;
}

FloatType type_of(const Linear& linear) { return linear.product().panel.weights; }

// A Linear of such weights [columns, inputs], and the same with a last column of other floats.
struct Pair {
  Pair(const Product& product, FloatType type, int64_t inputs, int64_t columns,
       Activation activation)
      : weight(random_narrow(type, columns * inputs, 0.1f, 1)),
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

void expect_same_bits(const Product& product, FloatType type, int64_t inputs, int64_t columns,
                      Activation activation) {
  Pair pair(product, type, inputs, columns, activation);
  ASSERT_EQ(type_of(pair.halved), type);
  ASSERT_EQ(type_of(pair.whole), FloatType::f32);
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
  for (const FloatType type : kTypes) {
    ASSERT_FALSE(f32_panels(type).empty());
    for (const Product* product : f32_panels(type)) {
      SCOPED_TRACE(product->halved(32, type)->name());
      for (const int64_t inputs : {32, 96, 160, 768}) {
        for (const int64_t columns : {1, 37, 64, 130}) {
          expect_same_bits(*product, type, inputs, columns, Activation::gelu);
        }
      }
      // In parts, which begin at multiples of 32 inputs.
      for (const int64_t inputs : {3072, 4096}) {
        expect_same_bits(*product, type, inputs, 37, Activation::none);
      }
    }
  }
}

TEST(HalvedPanels, AddInSlices) {
  constexpr int64_t kInputs = 96, kColumns = 37, kRows = 50, kSlices = 3;
  for (const Product* product : f32_panels(FloatType::bf16)) {
    SCOPED_TRACE(product->name());
    Pair pair(*product, FloatType::bf16, kInputs, kColumns, Activation::none);
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
  for (const FloatType type : kTypes) {
    for (const Product* product : f32_panels(type)) {
      const Product& halved = *product->halved(768, type);
      EXPECT_EQ(2 * panel_words(halved.panel, 768), panel_words(product->panel, 768));
      EXPECT_THAT(halved.name(), testing::HasSubstr(type == FloatType::f16 ? " f16" : " bf16"));
    }
  }
}

// How three columns of these weights are held.
FloatType held(const std::vector<float>& weight, const Product& product) {
  Scheduler scheduler(1);
  Team team(scheduler);
  const std::vector<float> bias(3);
  const Linear::Part part{{weight.data(), 3, std::ssize(weight) / 3}, bias.data()};
  return type_of(Linear(team, {&part, 1}, Activation::none, product));
}

TEST(HalvedPanels, HoldOnlyWhatTheirTypeCan) {
  // Not of the type: too fine, denormal as a float, or too large.
  const std::vector<uint32_t> others[] = {
      {0x3dcccccd, 0x3f800001, 0x00010000, 0x80400000},
      {0x3f801000, 0x38800001, 0x337fffff, 0x33c00000, 0x00010000, 0x47800000, 0xc77ff000}};
  for (const FloatType type : kTypes) {
    const Product& product = *f32_panels(type).front();
    std::vector<float> weight = random_narrow(type, 3 * 64, 0.1f, 1);
    weight[5] = -0.0f;
    EXPECT_EQ(held(weight, product), type);
    for (const uint32_t bits : others[type == FloatType::f16]) {
      std::vector<float> other = weight;
      other[170] = std::bit_cast<float>(bits);
      EXPECT_EQ(held(other, product), FloatType::f32) << std::hex << bits;
    }
    EXPECT_EQ(held(random_narrow(type, 3 * 70, 0.1f, 1), product), FloatType::f32);
    EXPECT_EQ(held(weight, pick_product(Precision::bf16, Backend::panels)), FloatType::f32);
  }
}

TEST(HalvedPanels, HoldTheGreatestAndTheLeastF16) {
  const Product& product = *f32_panels(FloatType::f16).front();
  std::vector<float> weight = random_narrow(FloatType::f16, 3 * 64, 0.1f, 1);
  for (const uint32_t bits : {0x477fe000u, 0xc77fe000u, 0x38800000u, 0x387fc000u, 0x33800000u}) {
    weight[170] = std::bit_cast<float>(bits);
    EXPECT_EQ(held(weight, product), FloatType::f16) << std::hex << bits;
  }
}

}  // namespace
}  // namespace bert::engine
