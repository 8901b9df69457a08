// SPDX-License-Identifier: Apache-2.0
//
// Quantising the weights of a dense layer to int8. Two things are learned from example inputs: the
// few inputs that are much larger than the others stay in f32 (as Dettmers et al. 2022, LLM.int8(),
// but chosen once), and the error that rounding a column's weights adds to its output on average is
// subtracted from its bias (Nagel et al. 2019, Data-Free Quantization, section 4.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor.h"

namespace bert::engine {

// How the inputs of a product are distributed.
struct InputStatistics {
  std::vector<float> mean;     // [K]
  std::vector<float> largest;  // [K], magnitudes
};
// x: [T, K]
InputStatistics measure_inputs(ConstTensor x);

// The inputs that should stay in f32: those whose largest magnitude is far above the median, at
// most 16 and the largest first.
std::vector<int32_t> find_outliers(const InputStatistics& statistics);

// [K]: 0 at the outliers and 1 at the other inputs; empty if there are no outliers.
std::vector<float> mask_inputs(std::span<const int32_t> outliers, int64_t k);

// Whether sums of four products of weights with inputs from 0 to 127 fit into 16 bits. Each eight
// weights of a column make two such sums: 0, 1, 4 and 5, and 2, 3, 6 and 7.
bool fours_fit(std::span<const int8_t> q);

// The weights of one column: w = q scale, up to rounding.
struct QuantisedRow {
  std::vector<int8_t> q;  // [K], 0 at masked inputs
  float scale;
  float mean_error;  // sum of (q scale - w) mean: to subtract from the column's bias
};
// weights: [K]; mask: as mask_inputs() makes it. The result always satisfies fours_fit(), so that a
// converted model is fast on every machine; by measurement, the coarser scale of some columns costs
// nothing. Throws std::domain_error if a weight, or the mean of an input, is not finite.
QuantisedRow quantise_row(std::span<const float> weights, std::span<const float> mask,
                          const InputStatistics& statistics);

}  // namespace bert::engine
