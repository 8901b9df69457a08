// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "models/bert_infer.h"

namespace bert {
namespace {

float dot_product(std::span<const float> a, std::span<const float> b) {
  // Several sums, which the processor can add in parallel.
  constexpr size_t kSums = 16;
  float sums[kSums] = {};
  size_t i = 0;
  for (; i + kSums <= a.size(); i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (size_t j = 0; i + j < a.size(); ++j) sums[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (const float each : sums) sum += each;
  return sum;
}

}  // namespace

float max_sim(const Output& query, const Output& document) {
  for (const Output* each : {&query, &document}) {
    if (each->rows >= 0 && each->columns >= 0 &&
        std::cmp_equal(each->rows * each->columns, each->values.size())) {
      continue;
    }
    throw Error(fmt::format("{} rows of {} columns, but {} values", each->rows, each->columns,
                            each->values.size()));
  }
  if (query.columns != document.columns || document.rows == 0) {
    throw Error(fmt::format(
        "the query has {} vectors of {} numbers and the document {} of {}, expected the same size "
        "and at least one in the document",
        query.rows, query.columns, document.rows, document.columns));
  }
  const engine::DefaultFloats floats;
  double sum = 0;
  for (int64_t i = 0; i < query.rows; ++i) {
    float greatest = -std::numeric_limits<float>::infinity();
    for (int64_t j = 0; j < document.rows; ++j) {
      const float product = dot_product(query.row(i), document.row(j));
      if (product > greatest || std::isnan(product)) greatest = product;
    }
    sum += greatest;
  }
  return floats.settled(static_cast<float>(sum));
}

}  // namespace bert
