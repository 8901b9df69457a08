// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kernels/kernel_table.h"
#include "engine/tensor.h"
#include "tests/engine/kernels/multiply.h"
#include "tests/engine/kernels/tested_kernels.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

class RowKernelsTest : public testing::TestWithParam<const KernelTable*> {};

// LayerNorm, or without a mean RMSNorm.
void check_norm(const KernelTable& kernels, bool is_centred) {
  constexpr int64_t kRows = 7;
  for (const int64_t width : {1, 2, 26, 31, 48, 104, 312, 768, 1027}) {
    std::vector<float> x = random_floats(kRows * width, 3.0f, 1), y(kRows * width + 1, 77.0f);
    const std::vector<float> gamma = random_floats(width, 1.0f, 2),
                             beta = random_floats(width, 1, 3);
    for (float& value : x) value += 5.0f;  // a mean that is not zero
    const float epsilon = width % 2 == 0 ? 1e-12f : 2;
    const auto norm = [&](const float* from, int64_t rows, float* to) {
      kernels.layer_norm(from, gamma.data(), beta.data(), epsilon, is_centred, rows, width, to);
    };
    norm(x.data(), kRows, y.data());

    for (int64_t r = 0; r < kRows; ++r) {
      const float *row = x.data() + r * width, *got = y.data() + r * width;
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < width && is_centred; ++i) {
        mean += row[i] / static_cast<double>(width);
      }
      for (int64_t i = 0; i < width; ++i)
        variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(width);
      for (int64_t i = 0; i < width; ++i) {
        const double want = (row[i] - mean) / std::sqrt(variance + epsilon) * gamma[i] + beta[i];
        ASSERT_NEAR(got[i], want, is_centred && width == 1 ? 0 : 4e-6)
            << "width " << width << ", row " << r << ", column " << i;
      }
      std::vector<float> alone(width);
      norm(row, 1, alone.data());
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), got)) << "other rows change it: " << width;
    }
    ASSERT_EQ(y.back(), 77.0f) << "wrote past the rows";
    norm(x.data(), kRows, x.data());
    ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin())) << "in place differs";
  }
}

TEST_P(RowKernelsTest, LayerNormAgreesWithItsTwinInDouble) { check_norm(*GetParam(), true); }
TEST_P(RowKernelsTest, RmsNormAgreesWithItsTwinInDouble) { check_norm(*GetParam(), false); }

TEST_P(RowKernelsTest, SumsAreSums) {
  const std::vector<float> a = random_floats(131, 1, 1), b = random_floats(131, 1, 2),
                           c = random_floats(131, 1, 3);
  std::vector<float> y(131);
  GetParam()->add3(a.data(), b.data(), c.data(), 131, y.data());
  for (int i = 0; i < 131; ++i) ASSERT_EQ(y[i], a[i] + b[i] + c[i]);
}

// Element i of a row of words.
template <typename Element>
int64_t element(const Word32* words, int64_t i) {
  Element value;
  std::memcpy(&value, reinterpret_cast<const char*>(words) + i * sizeof value, sizeof value);
  return value;
}
int64_t quantised(Int8Format format, const Word32* words, int64_t i) {
  return format.bytes == 1 ? element<uint8_t>(words, i) : element<uint16_t>(words, i);
}
constexpr Int8Format kInt8Formats[] = {{1, 255}, {1, 127}, {2, 255}};

TEST_P(RowKernelsTest, QuantisedInputsAreWithinHalfAStep) {
  for (const int64_t k : {1, 2, 3, 5, 26, 31, 33, 312, 768, 3073}) {
    for (const float middle : {0.0f, 0.4f, 3.0f, -3.0f}) {
      for (const Int8Format format : kInt8Formats) {
        const bool scaled = k % 2 == 1;
        std::vector<float> x = random_floats(k, 1, 3);
        for (float& value : x) value += middle;
        std::vector<float> factors = random_floats(k, 1, 4);
        for (float& factor : factors) factor = 0.5f + factor * factor;
        const int64_t words = (k + format.per_word() - 1) / format.per_word();
        std::vector<Word32> packed(words + 1, Word32{77});
        const RowScale scale = GetParam()->quantise_inputs(
            x.data(), scaled ? factors.data() : nullptr, k, format, packed.data());
        float least = 0, greatest = 0;
        for (int64_t i = 0; i < k; ++i) {
          const float value = x[i] * (scaled ? factors[i] : 1.0f);
          least = std::min(least, value);
          greatest = std::max(greatest, value);
          const auto q = quantised(format, packed.data(), i);
          ASSERT_TRUE(q >= 0 && q <= format.max_input) << q;
          // The zero point is rounded too, which moves the ends by half a step at most.
          const bool end = q == 0 || q == format.max_input;
          ASSERT_NEAR(static_cast<float>(q - scale.zero) * scale.scale, value,
                      scale.scale * (end ? 1.001f : 0.501f))
              << "k " << k << " at " << i;
        }
        ASSERT_FLOAT_EQ(scale.scale, (greatest - least) / static_cast<float>(format.max_input));
        ASSERT_EQ(packed[words].bits, 77u) << "wrote past the row";
      }
    }
  }
}

TEST_P(RowKernelsTest, QuantisingReportsNonFiniteValues) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const int at : {0, 5, 40}) {
      std::vector<float> x = random_floats(41, 1, 1);
      x[at] = bad;
      std::vector<Word32> words(41);
      const std::vector<float> mean(41);
      std::vector<int8_t> q(41);
      EXPECT_TRUE(std::isnan(
          GetParam()->quantise_inputs(x.data(), nullptr, 41, {1, 255}, words.data()).scale));
      EXPECT_FALSE(std::isfinite(
          GetParam()->quantise_weights(x.data(), nullptr, mean.data(), 41, 127, q.data()).scale));
    }
  }
  const std::vector<float> zeros(41);
  std::vector<Word32> words(41, Word32{77});
  EXPECT_EQ(GetParam()->quantise_inputs(zeros.data(), nullptr, 41, {1, 255}, words.data()).zero, 0);
  EXPECT_EQ(quantised({1, 255}, words.data(), 40), 0);
}

void pack_int8(Int8Format format, const int8_t* q, int64_t k, Word32* row) {
  if (format.bytes == 1) std::copy_n(q, k, reinterpret_cast<int8_t*>(row));
  if (format.bytes == 2) std::copy_n(q, k, reinterpret_cast<int16_t*>(row));
}

// Integers: every product and sum is exact, even of the largest values.
TEST_P(RowKernelsTest, Int8MatmulIsExact) {
  const KernelTable& kernels = *GetParam();
  const auto [width, step, row_step] = kernels.narrow_panels;
  for (const int64_t columns : {int64_t{1}, int64_t{3}, width}) {
    for (const int64_t k : {1, 2, 3, 26, 257, 768, 3072}) {
      const int64_t words = round_up(divide_up(k, kernels.int8.per_word()), step);
      std::vector<int8_t> w(columns * k);
      std::vector<float> random = random_floats(columns * k, 1, 5);
      for (size_t i = 0; i < w.size(); ++i) {
        w[i] = static_cast<int8_t>(k == 3072 ? -127 : std::clamp(random[i] * 50, -127.0f, 127.0f));
      }
      std::vector<Word32> packed_rows(columns * words), panel(words * width);
      std::vector<const Word32*> w_rows;
      std::vector<int32_t> sums(width);
      std::vector<float> scales(width, 0.25f);
      for (int64_t j = 0; j < columns; ++j) {
        pack_int8(kernels.int8, w.data() + j * k, k, packed_rows.data() + j * words);
        w_rows.push_back(packed_rows.data() + j * words);
        for (int64_t p = 0; p < k; ++p) sums[j] += w[j * k + p];
      }
      kernels.pack_panel(w_rows.data(), columns, words, width, panel.data());
      const std::vector<float> bias(columns, 1.0f);
      for (const int64_t rows : {1, 2, 5, 6, 7, 12, 13, 16, 20, 23, 31, 50}) {
        const std::vector<float> x = random_floats(rows * k, 1, 6);
        std::vector<Word32> inputs(rows * words);
        std::vector<RowScale> row_scales;
        for (int64_t i = 0; i < rows; ++i) {
          row_scales.push_back(kernels.quantise_inputs(x.data() + i * k, nullptr, k, kernels.int8,
                                                       inputs.data() + i * words));
          row_scales.back().scale = 0.5f;
        }
        std::vector<float> y(rows * columns + 1, 77.0f);
        kernels.matmul_int8({.x = inputs.data(),
                             .panel = panel.data(),
                             .next = panel.data(),
                             .bias = bias.data(),
                             .y = y.data(),
                             .rows = rows,
                             .words = words,
                             .columns = columns,
                             .x_stride = words,
                             .y_stride = columns,
                             .row_scales = row_scales.data(),
                             .column_scales = scales.data(),
                             .column_sums = sums.data()});
        for (int64_t i = 0; i < rows * columns; ++i) {
          int64_t sum = 0;
          for (int64_t p = 0; p < k; ++p) {
            const int64_t q = quantised(kernels.int8, inputs.data() + i / columns * words, p);
            sum += (q - row_scales[i / columns].zero) * w[i % columns * k + p];
          }
          ASSERT_EQ(y[i], static_cast<float>(sum) * 0.125f + 1.0f)
              << rows << "x" << columns << "x" << k << " at " << i;
        }
        ASSERT_EQ(y.back(), 77.0f) << "wrote past the rows";
      }
    }
  }
}

float from_bf16(int64_t upper) {
  const auto bits = static_cast<uint32_t>(upper << 16);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST_P(RowKernelsTest, Bf16IsTheNearestAndItsMatmulAgreesWithItsTwinInDouble) {
  const KernelTable& kernels = *GetParam();
  constexpr int64_t kColumns = 3, kRows = 17;
  for (const int64_t k : {1, 2, 3, 31, 257, 768}) {
    const auto [width, step, row_step] = kernels.narrow_panels;
    const int64_t words = round_up(divide_up(k, 2), step);
    std::vector<float> w = random_floats(kColumns * k, 1, 1), x = random_floats(kRows * k, 1, 2);
    const auto round = [&](std::vector<float>& rows, int64_t count) {
      std::vector<Word32> packed(count * words + 1);
      packed.back() = {77};
      for (int64_t i = 0; i < count; ++i) {
        kernels.round_bf16(rows.data() + i * k, k, packed.data() + i * words);
        for (int64_t p = 0; p < k; ++p) {
          const float rounded = from_bf16(element<uint16_t>(packed.data() + i * words, p));
          EXPECT_LE(std::abs(rounded - rows[i * k + p]), std::abs(rounded) * 0x1p-8f);
          rows[i * k + p] = rounded;
        }
      }
      EXPECT_EQ(packed[count * words].bits, 77u) << "wrote past the row";
      return packed;
    };
    const std::vector<Word32> weights = round(w, kColumns), inputs = round(x, kRows);
    std::vector<const Word32*> w_rows;
    for (int64_t j = 0; j < kColumns; ++j) w_rows.push_back(weights.data() + j * words);
    std::vector<Word32> panel(words * width);
    kernels.pack_panel(w_rows.data(), kColumns, words, width, panel.data());
    const std::vector<float> bias(kColumns, 1.0f);
    std::vector<float> y(kRows * kColumns);
    kernels.matmul_bf16({.x = inputs.data(),
                         .panel = panel.data(),
                         .next = panel.data(),
                         .bias = bias.data(),
                         .y = y.data(),
                         .rows = kRows,
                         .words = words,
                         .columns = kColumns,
                         .x_stride = words,
                         .y_stride = kColumns});
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      double want = 1, size = 1;
      for (int64_t p = 0; p < k; ++p) {
        const double product =
            static_cast<double>(x[i / kColumns * k + p]) * w[i % kColumns * k + p];
        want += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(y[i], want, 4 * 0x1p-24 * size) << "k " << k << " at " << i;
    }
  }
}

TEST_P(RowKernelsTest, Bf16TiesGoToEvenAndNanAndInfinityStayWhatTheyAre) {
  const KernelTable& kernels = *GetParam();
  const std::vector<float> x = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, NAN, INFINITY, -INFINITY, 3e38f};
  std::vector<Word32> packed(3);
  kernels.round_bf16(x.data(), 6, packed.data());
  const auto at = [&](int64_t i) { return from_bf16(element<uint16_t>(packed.data(), i)); };
  EXPECT_EQ(at(0), 1.0f);
  EXPECT_EQ(at(1), 1 + 0x1p-6f);
  EXPECT_TRUE(std::isnan(at(2)));
  EXPECT_EQ(at(3), INFINITY);
  EXPECT_EQ(at(4), -INFINITY);
  EXPECT_NEAR(at(5), 3e38f, 3e38f * 0x1p-8f);
}

TEST_P(RowKernelsTest, MatmulAgreesWithItsTwinInDouble) {
  for (const int64_t columns : {int64_t{1}, int64_t{3}, GetParam()->panels.columns}) {
    for (const int64_t k : {1, 5, 26, 256, 257, 768, 3072}) {
      const std::vector<float> w = random_floats(columns * k, 1, 1),
                               bias = random_floats(columns, 1, 2);
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 18, 23, 24, 31}) {
        for (const bool add : {false, true}) {
          const std::vector<float> x = random_floats(rows * k, 1, 3),
                                   before = random_floats(rows * columns + 1, 1, 4);
          const std::vector<float> y =
              multiply(*GetParam(), x, rows, w, k, bias, Activation::none, before, add);
          for (int64_t i = 0; i < rows * columns; ++i) {
            double want = bias[i % columns] + (add ? before[i] : 0);
            double size = std::abs(bias[i % columns]) + (add ? std::abs(before[i]) : 0);
            for (int64_t p = 0; p < k; ++p) {
              const double product =
                  static_cast<double>(x[i / columns * k + p]) * w[i % columns * k + p];
              want += product;
              size += std::abs(product);
            }
            // Each of the few sums of one product, the bias and the residual rounds; with more
            // products, roundings go in random directions.
            ASSERT_NEAR(y[i], want, 4 * 0x1p-24 * size)
                << rows << "x" << columns << "x" << k << " at " << i << ", add " << add;
          }
          ASSERT_EQ(y.back(), before.back()) << "wrote past the rows";
        }
      }
    }
  }
}

// A build that multiplies and adds in two steps is correct, but half as fast on most machines.
TEST_P(RowKernelsTest, MatmulFusesProductsAndSums) {
  if (GetParam()->name == std::string_view("portable")) GTEST_SKIP() << "not every machine can";
  const float a = 1 + 0x1p-12f;  // its square is 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11
  const std::vector<float> y =
      multiply(*GetParam(), {1, a}, 1, {-(1 + 0x1p-11f), a}, 2, {0}, Activation::none, {0}, false);
  EXPECT_EQ(y[0], 0x1p-24f);
}

TEST_P(RowKernelsTest, ActivationsAgreeWithTheirTwinsInDouble) {
  const auto check = [&](Activation activation, const std::function<double(double)>& twin,
                         double error = 2e-7) {
    std::vector<float> x;
    for (float v = -30; v < 30; v += 0.0137f) x.push_back(v);
    for (const float v : {-1e30f, -100.0f, -0.0f, 1e-30f, 100.0f, 1e30f}) x.push_back(v);
    const std::vector<float> y = multiply(*GetParam(), x, std::ssize(x), {1}, 1, {0.05f},
                                          activation, std::vector<float>(x.size()), false);
    for (size_t i = 0; i < x.size(); ++i) {
      const double at = x[i] + 0.05f, want = twin(at);
      ASSERT_NEAR(y[i], want, error * (1 + std::abs(at))) << "at " << at;
    }
  };
  check(Activation::none, [](double x) { return x; });
  check(Activation::relu, [](double x) { return x > 0 ? x : 0; });
  check(Activation::tanh, [](double x) { return std::tanh(x); });
  check(Activation::silu, [](double x) { return x / (1 + std::exp(-x)); });
  check(Activation::quick_gelu, [](double x) { return x / (1 + std::exp(-1.702 * x)); });
  check(
      Activation::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, 1e-7);
  for (const float x : {-6.6f, -9.0f, -1e30f}) {
    EXPECT_NEAR(multiply(*GetParam(), {x}, 1, {1}, 1, {0}, Activation::gelu, {0}, false)[0], 0,
                2e-10);
  }
  check(Activation::gelu_tanh, [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  });
}

TEST_P(RowKernelsTest, ActivationsKeepNanAndInfinity) {
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::tanh, Activation::gelu,
        Activation::gelu_tanh, Activation::silu, Activation::quick_gelu}) {
    const std::vector<float> y =
        multiply(*GetParam(), {NAN, INFINITY}, 2, {1}, 1, {0.05f}, activation, {0, 0}, false);
    EXPECT_TRUE(std::isnan(y[0])) << static_cast<int>(activation);
    EXPECT_EQ(y[1], activation == Activation::tanh ? 1 : INFINITY) << static_cast<int>(activation);
  }
}

// The GELU of int8 is less exact: its result is rounded to one of 256 steps right afterwards, and
// for a row from -0.17 to 2 a step is 0.0085.
TEST_P(RowKernelsTest, GeluOfInt8AgreesWithItsTwinToAFiftiethOfAStep) {
  const auto [width, words, row_step] = GetParam()->narrow_panels;
  for (float from = -12; from < 12; from += 0.0137f * static_cast<float>(width)) {
    std::vector<float> bias(width), y(width);
    for (int64_t i = 0; i < width; ++i) bias[i] = from + 0.0137f * static_cast<float>(i);
    const std::vector<Word32> zeros(words * width);
    const std::vector<float> ones(width, 1);
    const std::vector<int32_t> sums(width);
    const RowScale scale = {.scale = 1, .zero = 0};
    GetParam()->matmul_int8({.x = zeros.data(),
                             .panel = zeros.data(),
                             .next = zeros.data(),
                             .bias = bias.data(),
                             .y = y.data(),
                             .rows = 1,
                             .words = words,
                             .columns = width,
                             .x_stride = words,
                             .y_stride = width,
                             .activation = Activation::gelu,
                             .row_scales = &scale,
                             .column_scales = ones.data(),
                             .column_sums = sums.data()});
    for (int64_t i = 0; i < width; ++i) {
      const double x = bias[i], want = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
      ASSERT_NEAR(y[i], want, 1.6e-4 + 2e-5 * std::max(0.0, std::abs(x) - 3.9)) << "at " << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowKernelsTest, testing::ValuesIn(tested_kernels()),
                         [](const auto& test) { return test.param->name; });

}  // namespace
}  // namespace bert::engine
