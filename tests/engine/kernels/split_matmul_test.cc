// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/kernels/instruction_sets.h"
#include "engine/kernels/pick_kernels.h"
#include "tests/engine/kernels/multiply.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {

namespace avx512_emulated {
extern const TileKernels tiles;  // as avx512_amx's, on tiles in memory (emulated_tiles.h)
}

namespace {

// The tables that this machine can run; each uses panels of the AVX-512 kernels.
std::vector<const TileKernels*> runnable_tiles() {
  std::vector<const TileKernels*> tables;
#if defined(__x86_64__)
  if (tile_kernels()) tables.push_back(tile_kernels());
  const uint32_t needed = avx512_emulated::tiles.sets & ~(kAmxTile | kAmxBf16);
  if ((needed & ~usable_sets()) == 0) tables.push_back(&avx512_emulated::tiles);
#endif
  return tables;
}

const RowKernels& vectors() {
#if defined(__x86_64__)
  return avx512::kernels;
#else
  return portable::kernels;
#endif
}

class SplitMatmulTest : public testing::TestWithParam<const TileKernels*> {};

// As multiply(), by matmul_split.
std::vector<float> multiply_split(const TileKernels& kernels, const std::vector<float>& x,
                                  int64_t rows, const std::vector<float>& w, int64_t k,
                                  const std::vector<float>& bias, Activation activation,
                                  std::vector<float> y, bool add) {
  const int64_t columns = std::ssize(bias), width = vectors().panel_columns;
  const int64_t padded = (k + kSplitInputs - 1) / kSplitInputs * kSplitInputs;
  const int64_t each = padded * kSplitParts / 2;
  const int64_t blocks = (rows + kSplitRows - 1) / kSplitRows;
  std::vector<const Word32*> w_rows;
  for (int64_t j = 0; j < columns; ++j) w_rows.push_back(as_words(w.data() + j * k));
  std::vector<Word32> panel(k * width), split(padded * width + 1, Word32{77});
  vectors().pack_panel(w_rows.data(), columns, k, panel.data());
  kernels.split_panel(panel.data(), k, split.data());
  EXPECT_EQ(split.back().bits, 77u) << "wrote past the panel";
  std::vector<Word32> words(blocks * kSplitRows * each + 1, Word32{77});
  for (int64_t i = 0; i < rows; i += kSplitRows) {
    kernels.split_rows(x.data() + i * k, k, std::min(kSplitRows, rows - i), k,
                       words.data() + i * each);
  }
  EXPECT_EQ(words.back().bits, 77u) << "wrote past the rows";
  kernels.matmul_split({.x = words.data(),
                        .panel = split.data(),
                        .bias = bias.data(),
                        .y = y.data(),
                        .rows = rows,
                        .words = padded,
                        .columns = columns,
                        .x_stride = each,
                        .y_stride = columns,
                        .activation = activation,
                        .add = add});
  return y;
}

TEST_P(SplitMatmulTest, AgreesWithItsTwinInDouble) {
  for (const int64_t columns : {1, 16, 33, 64}) {
    for (const int64_t k : {1, 31, 32, 33, 100, 160, 768}) {
      const std::vector<float> w = random_floats(columns * k, 1, 1),
                               bias = random_floats(columns, 1, 2);
      constexpr int64_t kAllRows = 300;
      const std::vector<float> x = random_floats(kAllRows * k, 1, 3);
      const std::vector<float> before = random_floats(kAllRows * columns, 1, 4);
      for (const bool add : {false, true}) {
        const std::vector<float> all =
            multiply_split(*GetParam(), x, kAllRows, w, k, bias, Activation::none, before, add);
        for (int64_t i = 0; i < kAllRows * columns; i += 7) {
          const double b = bias[i % columns], residual = add ? before[i] : 0;
          double want = b + residual, squares = b * b + residual * residual;
          for (int64_t p = 0; p < k; ++p) {
            const double product =
                static_cast<double>(x[i / columns * k + p]) * w[i % columns * k + p];
            want += product;
            squares += product * product;
          }
          ASSERT_NEAR(all[i], want, 16 * 0x1p-24 * (std::sqrt(squares) + std::abs(want)))
              << columns << "x" << k << " at " << i << ", add " << add;
        }
        // The bits are the same however rows are divided among tiles, strips and calls.
        for (const int64_t rows : {1, 2, 7, 15, 16, 17, 31, 32, 33, 80, 95, 96, 112, 255, 256}) {
          std::vector<float> some(before.begin(), before.begin() + rows * columns);
          some.push_back(77);
          some = multiply_split(*GetParam(), x, rows, w, k, bias, Activation::none, some, add);
          ASSERT_EQ(some.back(), 77.0f) << "wrote past the rows";
          some.pop_back();
          ASSERT_TRUE(std::ranges::equal(some, std::span(all).first(some.size())))
              << rows << "x" << columns << "x" << k << ", add " << add;
        }
      }
    }
  }
}

// The parts of each weight and input add up to it, whatever its digits: times 1 it is itself.
TEST_P(SplitMatmulTest, FloatsAddUp) {
  constexpr int64_t kSize = 64;
  std::vector<float> ones(kSize * kSize), values = random_floats(kSize * kSize, 1, 1);
  for (int64_t i = 0; i < kSize; ++i) ones[i * kSize + i] = 1;
  const auto set = [&](int64_t i, uint32_t bits) { std::memcpy(&values[i], &bits, sizeof bits); };
  int64_t i = 0;
  for (const uint32_t sign : {0u, 1u << 31}) {
    for (const uint32_t high : {0x3f80u, 0x3f81u, 0x3fffu, 0x4000u, 0x1100u, 0x7e7fu}) {
      for (const uint32_t low : {0u, 1u, 127u, 128u, 129u, 255u, 256u, 0x7f7fu, 0x7f80u, 0x7fffu,
                                 0x8000u, 0x8001u, 0x80ffu, 0xfeffu, 0xff00u, 0xff81u, 0xffffu}) {
        set(i++, sign | high << 16 | low);
      }
    }
    for (const uint32_t bits : {0u, 0x3f000000u}) set(i++, sign | bits);
  }
  const std::vector<float> zeros(kSize), before(kSize * kSize);
  const auto product = [&](const std::vector<float>& x, const std::vector<float>& w) {
    return multiply_split(*GetParam(), x, kSize, w, kSize, zeros, Activation::none, before, false);
  };
  const std::vector<float> of_inputs = product(values, ones), of_weights = product(ones, values);
  int exponent;
  for (int64_t r = 0; r < kSize; ++r) {
    for (int64_t c = 0; c < kSize; ++c) {
      ASSERT_EQ(of_inputs[r * kSize + c], values[r * kSize + c]) << std::hexfloat;
      // Just below a power of two, a weight's first part is that power, and sums are rounded to its
      // last place.
      const float value = values[r * kSize + c];
      const bool below = std::frexp(std::abs(value), &exponent) > 0.99f;
      ASSERT_NEAR(of_weights[c * kSize + r], value, below ? std::abs(value) * 0x1p-23f : 0)
          << std::hexfloat;
    }
  }
  // The only weights that do not fit half the bytes, and one smaller than any model has.
  set(0, 0x3fffff01);
  set(1, 0x3fffff80);
  set(2, 0x00812345);
  const std::vector<float> nearly = product(ones, values);
  for (const int64_t c : {0, 1, 2}) {
    ASSERT_NEAR(nearly[c * kSize], values[c], values[c] * (c < 2 ? 0x1.01p-17f : 0x1p-7f));
  }
  // NaN and infinity do not become finite.
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    values[0] = bad;
    ASSERT_FALSE(std::isfinite(product(values, ones)[0]));
    ASSERT_FALSE(std::isfinite(product(ones, values)[0]));
  }
}

TEST_P(SplitMatmulTest, AppliesActivationsAsMatmulDoes) {
  constexpr int64_t kRows = 50, kInputs = 40, kColumns = 60;
  const std::vector<float> x = random_floats(kRows * kInputs, 1, 1),
                           w = random_floats(kColumns * kInputs, 1, 2),
                           bias = random_floats(kColumns, 1, 3), before(kRows * kColumns);
  for (const Activation activation :
       {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::tanh}) {
    const auto by = [&](const auto& function, const auto& kernels) {
      return function(kernels, x, kRows, w, kInputs, bias, activation, before, false);
    };
    EXPECT_THAT(by(multiply_split, *GetParam()),
                testing::Pointwise(testing::FloatNear(2e-5f), by(multiply, vectors())));
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SplitMatmulTest);
INSTANTIATE_TEST_SUITE_P(All, SplitMatmulTest, testing::ValuesIn(runnable_tiles()),
                         [](const auto& of) { return std::string(of.param->name); });

}  // namespace
}  // namespace bert::engine
