// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/quantisation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

InputStatistics measure_inputs(ConstTensor x) {
  InputStatistics statistics{.mean = std::vector<float>(x.columns),
                             .largest = std::vector<float>(x.columns)};
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* row = x.row(i);
    for (int64_t j = 0; j < x.columns; ++j) {
      statistics.mean[j] += row[j] / static_cast<float>(x.rows);
      statistics.largest[j] = std::max(statistics.largest[j], std::abs(row[j]));
    }
  }
  return statistics;
}

std::vector<int32_t> find_outliers(const InputStatistics& statistics) {
  // By measurement on random weights with and without outliers: 3 and 6 times the median give about
  // the same errors, and 16 of 768 inputs in f32 cost a tenth of the time.
  constexpr float kTimesMedian = 4;
  constexpr size_t kMaxOutliers = 16;
  const std::vector<float>& largest = statistics.largest;
  std::vector<float> sorted = largest;
  const auto median = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), median, sorted.end());
  std::vector<int32_t> outliers;
  for (size_t j = 0; j < largest.size(); ++j) {
    if (largest[j] > kTimesMedian * *median) outliers.push_back(static_cast<int32_t>(j));
  }
  std::ranges::stable_sort(outliers, [&](auto a, auto b) { return largest[a] > largest[b]; });
  if (outliers.size() > kMaxOutliers) outliers.resize(kMaxOutliers);
  return outliers;
}

std::vector<float> mask_inputs(std::span<const int32_t> outliers, int64_t k) {
  if (outliers.empty()) return {};
  std::vector<float> mask(k, 1);
  for (const int32_t j : outliers) mask[j] = 0;
  return mask;
}

namespace {

// The largest sum allowed of the positive or the negative ones of four weights: 127 * 258 <= 32767.
constexpr int kMostOfFour = 258;

int greatest_of_four(std::span<const int8_t> q) {
  int greatest = 0;
  const auto add_up = [&](const int8_t* eight) {
    for (const int8_t* w : {eight, eight + 2}) {
      const auto up = [&](int i) { return std::max<int>(w[i], 0); };
      const int sum = up(0) + up(1) + up(4) + up(5);
      greatest = std::max({greatest, sum, sum - (w[0] + w[1] + w[4] + w[5])});
    }
  };
  const size_t whole = q.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) add_up(&q[i]);
  int8_t rest[8] = {};
  std::copy(q.begin() + static_cast<ptrdiff_t>(whole), q.end(), rest);
  add_up(rest);
  return greatest;
}

}  // namespace

bool fours_fit(std::span<const int8_t> q) { return greatest_of_four(q) <= kMostOfFour; }

QuantisedRow quantise_row(std::span<const float> weights, std::span<const float> mask,
                          const InputStatistics& statistics) {
  assert(weights.size() == statistics.mean.size());
  assert(mask.empty() || mask.size() == weights.size());
  QuantisedRow row{.q = std::vector<int8_t>(weights.size()), .scale = 0, .mean_error = 0};
  const auto quantise = [&](float most) {
    const auto [scale, mean_error] = best_kernels().quantise_weights(
        weights.data(), mask.empty() ? nullptr : mask.data(), statistics.mean.data(),
        std::ssize(weights), most, row.q.data());
    row.scale = scale;
    row.mean_error = mean_error;
  };
  quantise(127);
  if (!std::isfinite(row.scale)) throw std::domain_error("a weight is not a finite number");
  if (!std::isfinite(row.mean_error))
    throw std::domain_error("an input of a product is not a finite number");
  const int greatest = greatest_of_four(row.q);
  // Rounding may add a half to each of the four, both times.
  if (greatest > kMostOfFour) quantise(127.0f * (kMostOfFour - 4) / static_cast<float>(greatest));
  return row;
}

}  // namespace bert::engine
