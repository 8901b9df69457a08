// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/quantisation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/dense/linear.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/kernels/tested_kernels.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

constexpr int64_t kQuantisedInputs = 104, kExampleRows = 64;

// x [kExampleRows, kQuantisedInputs]: each input has a mean of its own, as those of a dense layer
// do, and those in `outliers` are a hundred times as large as the others.
std::vector<float> random_inputs(const std::vector<int32_t>& outliers, uint32_t seed) {
  std::vector<float> x = random_floats(kExampleRows * kQuantisedInputs, 1, seed);
  const std::vector<float> mean = random_floats(kQuantisedInputs, 1, 99);
  for (int64_t i = 0; i < kExampleRows; ++i) {
    for (int64_t j = 0; j < kQuantisedInputs; ++j) x[i * kQuantisedInputs + j] += mean[j];
    for (const int32_t j : outliers) x[i * kQuantisedInputs + j] *= 100;
  }
  return x;
}

InputStatistics measure(const std::vector<float>& x) {
  return measure_inputs({x.data(), kExampleRows, kQuantisedInputs});
}

TEST(Quantisation, StatisticsAgreeWithTheirTwinInDouble) {
  const std::vector<float> x = random_inputs({5}, 1);
  const InputStatistics statistics = measure(x);
  for (int64_t j = 0; j < kQuantisedInputs; ++j) {
    double mean = 0;
    float largest = 0;
    for (int64_t i = 0; i < kExampleRows; ++i) {
      mean += static_cast<double>(x[i * kQuantisedInputs + j]) / kExampleRows;
      largest = std::max(largest, std::abs(x[i * kQuantisedInputs + j]));
    }
    EXPECT_NEAR(statistics.mean[j], mean, 1e-5 * largest) << "input " << j;
    EXPECT_EQ(statistics.largest[j], largest) << "input " << j;
  }
}

TEST(Quantisation, OutliersAreTheLargestInputsInOrder) {
  EXPECT_TRUE(find_outliers(measure(random_inputs({}, 1))).empty());
  std::vector<float> largest(kQuantisedInputs, 1.0f);
  largest[0] = 4.0f;  // not more than four times the median
  largest[7] = 5.0f;
  largest[40] = 9.0f;
  largest[103] = 5.0f;
  EXPECT_THAT(find_outliers({.mean = {}, .largest = largest}), testing::ElementsAre(40, 7, 103));
  for (int j = 0; j < 30; ++j) largest[j] = 100.0f + static_cast<float>(j);
  const std::vector<int32_t> outliers = find_outliers({.mean = {}, .largest = largest});
  EXPECT_EQ(outliers.size(), 16u);
  EXPECT_EQ(outliers.front(), 29);
  EXPECT_EQ(outliers.back(), 14);
}

TEST(Quantisation, MaskIsZeroAtOutliersAlone) {
  EXPECT_TRUE(mask_inputs({}, 5).empty());
  const std::vector<int32_t> outliers = {3, 1};
  EXPECT_THAT(mask_inputs(outliers, 5), testing::ElementsAre(1, 0, 1, 0, 1));
}

struct Errors {
  double plain = 0, corrected = 0;  // of the mean output, over columns
};

// Quantises random weights for the inputs of `calibration`, and returns the errors that this makes
// for the inputs `x`, all in double.
Errors mean_errors(const std::vector<float>& calibration, const std::vector<float>& x,
                   const std::vector<int32_t>& expected_outliers) {
  constexpr int64_t kColumns = 50;
  const InputStatistics statistics = measure(calibration);
  const std::vector<int32_t> outliers = find_outliers(statistics);
  EXPECT_EQ(outliers, expected_outliers);
  const std::vector<float> mask = mask_inputs(outliers, kQuantisedInputs);
  const std::vector<float> weights = random_floats(kColumns * kQuantisedInputs, 0.1f, 7);
  Errors errors;
  for (int64_t column = 0; column < kColumns; ++column) {
    const std::span<const float> row =
        std::span(weights).subspan(column * kQuantisedInputs, kQuantisedInputs);
    const QuantisedRow quantised = quantise_row(row, mask, statistics);
    double largest = 0, twin = 0, mean_error = 0;
    for (int64_t j = 0; j < kQuantisedInputs; ++j) {
      const double w = mask.empty() || mask[j] > 0 ? row[j] : 0;
      largest = std::max(largest, std::abs(w));
      const double error = quantised.q[j] * static_cast<double>(quantised.scale) - w;
      EXPECT_LE(std::abs(error), quantised.scale * 0.5001) << "column " << column << ", " << j;
      twin += error * statistics.mean[j];
      for (int64_t i = 0; i < kExampleRows; ++i)
        mean_error += error * x[i * kQuantisedInputs + j] / kExampleRows;
    }
    EXPECT_GE(quantised.scale, largest / 127 - 1e-7);
    EXPECT_NEAR(quantised.mean_error, twin, 1e-5);
    for (const int32_t j : outliers) EXPECT_EQ(quantised.q[j], 0);
    errors.plain += std::abs(mean_error) / kColumns;
    errors.corrected += std::abs(mean_error - quantised.mean_error) / kColumns;
  }
  return errors;
}

TEST(Quantisation, BiasCorrectionTakesTheMeanErrorOff) {
  for (const std::vector<int32_t>& outliers : {std::vector<int32_t>{}, {5}}) {
    const std::vector<float> calibration = random_inputs(outliers, 1);
    const Errors same = mean_errors(calibration, calibration, outliers);
    EXPECT_LT(same.corrected, 1e-5);
    EXPECT_GT(same.plain, 1e-3);
    const Errors others = mean_errors(calibration, random_inputs(outliers, 2), outliers);
    EXPECT_LT(others.corrected, others.plain / 2);
  }
}

// A Linear has both: without the mask, a row's step is a hundred times as coarse, and without the
// correction, its mean outputs are off.
TEST(Quantisation, IsThatOfALinear) {
  constexpr int64_t kColumns = 70;
  const std::vector<float> x = random_inputs({5}, 1), bias = random_floats(kColumns, 1, 8),
                           weights = random_floats(kColumns * kQuantisedInputs, 0.1f, 7);
  Scheduler scheduler(1);
  Team team(scheduler);
  const Linear::Part part{{weights.data(), kColumns, kQuantisedInputs}, bias.data()};
  std::vector<const Product*> products = {matmul_product(Precision::int8)};
  for (const KernelTable* kernels : tested_kernels()) {
    products.push_back(&panel_product(Precision::int8, *kernels));
  }
  for (const Product* product : products) {
    if (!product) continue;
    Linear linear(team, {&part, 1}, Activation::none, *product);
    linear.quantise(team, measure(x));
    Buffer scratch, found;
    const Tensor y = found.tensor(kExampleRows, kColumns);
    linear.run(team, {x.data(), kExampleRows, kQuantisedInputs}, scratch, y);
    double largest = 0, of_means = 0;
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < kExampleRows; ++i) {
        double error = y.row(i)[column] - bias[column];
        for (int64_t j = 0; j < kQuantisedInputs; ++j) {
          error -= static_cast<double>(x[i * kQuantisedInputs + j]) *
                   weights[column * kQuantisedInputs + j];
        }
        largest = std::max(largest, std::abs(error));
        sum += error;
      }
      of_means += std::abs(sum) / kExampleRows / kColumns;
    }
    EXPECT_LT(largest, 0.1) << product->name();
    EXPECT_LT(of_means, 0.003) << product->name();
  }
}

TEST(Quantisation, SumsOfFourFitAndScalesAreNoCoarserThanThatTakes) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const auto size = static_cast<size_t>(1 + i % 67);
    std::vector<float> weights(size);
    for (float& w : weights) {
      const double normal = std::normal_distribution()(random);
      w = static_cast<float>(i % 3 == 0 ? normal : i % 3 == 1 ? std::pow(normal, 3) : 1);
      if (i % 2 == 0) w = std::abs(w);
    }
    const InputStatistics none{std::vector<float>(size), std::vector<float>(size)};
    const QuantisedRow row = quantise_row(weights, {}, none);
    EXPECT_TRUE(fours_fit(row.q));
    int greatest = 0;  // inputs up to 127, those of the least sum 0
    for (size_t first = 0; first < size; ++first) {
      if (first % 8 != 0 && first % 8 != 2) continue;
      int up = 0, down = 0;
      for (const size_t j : {first, first + 1, first + 4, first + 5}) {
        if (j >= size) continue;
        up += std::max<int>(row.q[j], 0);
        down += std::min<int>(row.q[j], 0);
      }
      greatest = std::max({greatest, up, -down});
    }
    EXPECT_LE(greatest * 127, std::numeric_limits<int16_t>::max());
    const float largest =
        std::abs(*std::ranges::max_element(weights, {}, [](float w) { return std::abs(w); }));
    const bool is_coarser = row.scale > largest / 126.9f;
    EXPECT_TRUE(!is_coarser || greatest >= 248) << greatest;
  }
  EXPECT_FALSE(fours_fit(std::vector<int8_t>{0, 0, 65, 65, 0, 0, 65, 65}));
  EXPECT_TRUE(fours_fit(std::vector<int8_t>{65, 65, 65, 65, 0, 0, 65, 63}));
  EXPECT_FALSE(fours_fit(std::vector<int8_t>{-127, -127, 0, 0, -5}));
}

TEST(Quantisation, ThrowsWhereANumberIsNotFinite) {
  const std::vector<float> weights = random_floats(kQuantisedInputs, 1, 1);
  const InputStatistics statistics = measure(random_inputs({}, 1));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
    std::vector<float> bad_weights = weights;
    bad_weights[77] = bad;
    EXPECT_THROW(quantise_row(bad_weights, {}, statistics), std::domain_error);
    InputStatistics bad_statistics = statistics;
    bad_statistics.mean[77] = bad;
    EXPECT_THROW(quantise_row(weights, {}, bad_statistics), std::domain_error);
  }
}

}  // namespace
}  // namespace bert::engine
