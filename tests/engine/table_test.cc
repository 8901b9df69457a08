// SPDX-License-Identifier: Apache-2.0
#include "engine/table.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/kernels/tested_kernels.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

// By IEEE 754: (-1)^sign 2^(exponent - 15) 1.fraction, or without the 1 if the exponent is 0.
double half_by_definition(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double sign = half >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return bits;
}

TEST(Table, WidensEveryHalf) {
  const std::vector<uint16_t> halves = all_bits();
  std::vector<float> floats(halves.size());
  widen(FloatType::f16, std::as_bytes(std::span(halves)).data(), std::ssize(halves), floats.data());
  for (const uint16_t half : halves) {
    const double expected = half_by_definition(half);
    ASSERT_EQ(std::signbit(floats[half]), half >> 15 != 0) << half;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(floats[half])) << half;
    } else {
      ASSERT_EQ(floats[half], expected) << half;
    }
  }
}

TEST(Table, WidensEveryBfloatAtAnyAlignment) {
  const std::vector<uint16_t> bits = all_bits();
  const std::span bytes = std::as_bytes(std::span(bits));
  std::vector<std::byte> moved = {std::byte{}};
  moved.insert(moved.end(), bytes.begin(), bytes.end());
  std::vector<float> floats(bits.size());
  widen(FloatType::bf16, moved.data() + 1, std::ssize(bits), floats.data());
  for (const uint16_t each : bits) {
    ASSERT_EQ(std::bit_cast<uint32_t>(floats[each]), uint32_t{each} << 16);
  }
}

// A table in 16 bits, and the same numbers as floats.
struct Both {
  Both(FloatType type, int64_t rows, int64_t columns, int seed) : floats(rows * columns) {
    for (const float value : random_floats(rows * columns, 1, seed)) {
      // Random halves, too; their exponents are kept from the greatest.
      const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
      narrow.push_back(type == FloatType::f16 ? bits & 0xbfff : bits);
    }
    const std::byte* const bytes = std::as_bytes(std::span(narrow)).data();
    widen(type, bytes, rows * columns, floats.data());
    narrow_table = {bytes, type, rows, columns};
    table = {floats.data(), rows, columns};
  }
  std::vector<uint16_t> narrow;
  std::vector<float> floats;
  Table narrow_table;
  ConstTensor table;
};

TEST(Table, GivesRowsInPlaceOrInRoom) {
  const Both both(FloatType::bf16, 5, 7, 1);
  std::vector<float> room(7);
  EXPECT_EQ(Table(both.table).row(3, nullptr), both.table.row(3));
  const float* const row = both.narrow_table.row(3, room.data());
  EXPECT_EQ(row, room.data());
  EXPECT_EQ(std::memcmp(row, both.table.row(3), 7 * sizeof(float)), 0);
}

TEST(Table, SumsOfEmbeddingsHaveTheSameBits) {
  constexpr int64_t kTokens = 77, kRows = 301;
  Scheduler scheduler(2);
  Team team(scheduler);
  for (const FloatType type : {FloatType::bf16, FloatType::f16}) {
    for (const int64_t columns : {1, 15, 16, 33, 312}) {
      const Both both(type, kRows, columns, static_cast<int>(columns));
      const std::vector<float> position = random_floats(kTokens * columns, 1, 2),
                               segment = random_floats(2 * columns, 1, 3);
      std::vector<int32_t> ids, positions, segments;
      for (int32_t t = 0; t < kTokens; ++t) {
        ids.push_back(t * 97 % kRows);
        positions.push_back(t);
        segments.push_back(t % 2);
      }
      Buffer memory, narrow_memory;
      const Tensor sum = memory.tensor(kTokens, columns),
                   narrow_sum = narrow_memory.tensor(kTokens, columns);
      const ConstTensor others[] = {{position.data(), kTokens, columns},
                                    {segment.data(), 2, columns}};
      embedding_sum(team, {both.table, others[0], others[1]}, ids, positions, segments, sum);
      embedding_sum(team, {both.narrow_table, others[0], others[1]}, ids, positions, segments,
                    narrow_sum);
      EXPECT_EQ(std::memcmp(sum.data, narrow_sum.data, sum.size() * sizeof(float)), 0) << columns;
    }
  }
}

TEST(Table, ProductsHaveTheSameBits) {
  Scheduler scheduler(2);
  Team team(scheduler);
  for (const KernelTable* kernels : tested_kernels()) {
    const Product& product = panel_product(Precision::f32, *kernels);
    for (const FloatType type : {FloatType::bf16, FloatType::f16}) {
      constexpr int64_t kInputs = 77, kOutputs = 301, kRows = 5;
      const Both both(type, kOutputs, kInputs, 4);
      const std::vector<float> input = random_floats(kRows * kInputs, 1, 5),
                               bias = random_floats(kOutputs, 1, 6);
      Buffer memory, narrow_memory;
      const Tensor y = memory.tensor(kRows, kOutputs),
                   narrow_y = narrow_memory.tensor(kRows, kOutputs);
      const ConstTensor x = {input.data(), kRows, kInputs};
      multiply_in_place(team, product, x, both.table, bias.data(), y);
      multiply_in_place(team, product, x, both.narrow_table, bias.data(), narrow_y);
      EXPECT_EQ(std::memcmp(y.data, narrow_y.data, y.size() * sizeof(float)), 0) << product.name();
    }
  }
}

}  // namespace
}  // namespace bert::engine
