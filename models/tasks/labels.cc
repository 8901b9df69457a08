// SPDX-License-Identifier: Apache-2.0
//
// What logits, vectors and scores mean.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "models/bert_infer.h"
#include "models/tasks/logits.h"

namespace bert {

std::vector<float> probabilities(std::span<const float> logits, const Info& info) {
  const engine::DefaultFloats floats;
  std::vector<float> result(logits.begin(), logits.end());
  if (info.scores == Scores::sigmoid) {
    for (float& value : result) value = 1.0f / (1.0f + std::exp(-value));
  } else if (info.scores == Scores::softmax && !result.empty()) {
    return models::softmax(logits);
  }
  return result;
}

Label best_label(std::span<const float> logits, const Info& info) {
  if (logits.empty() || logits.size() != info.labels.size()) {
    throw Error(
        fmt::format("{} logits, but the model has {} labels", logits.size(), info.labels.size()));
  }
  const int64_t best = top_k(logits, 1).front();
  const float probability = info.scores == Scores::raw ? NAN : probabilities(logits, info)[best];
  return {.index = static_cast<int>(best), .name = info.labels[best], .probability = probability};
}

namespace {

void check_sizes(std::span<const float> a, std::span<const float> b) {
  if (a.size() == b.size()) return;
  throw Error(
      fmt::format("vectors of {} and {} numbers, expected the same size", a.size(), b.size()));
}

}  // namespace

float similarity(std::span<const float> a, std::span<const float> b, const Info& info) {
  if (info.similarity != "dot" && info.similarity != "euclidean" &&
      info.similarity != "manhattan") {
    return similarity(a, b);
  }
  check_sizes(a, b);
  const engine::DefaultFloats floats;
  double product = 0, distances = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    product += x * y;
    distances += std::abs(x - y);
    squares += (x - y) * (x - y);
  }
  return floats.settled(static_cast<float>(info.similarity == "dot"         ? product
                                           : info.similarity == "manhattan" ? -distances
                                                                            : -std::sqrt(squares)));
}

float similarity(std::span<const float> a, std::span<const float> b) {
  check_sizes(a, b);
  const engine::DefaultFloats floats;
  double product = 0, a_squared = 0, b_squared = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    product += x * y;
    a_squared += x * x;
    b_squared += y * y;
  }
  if (a_squared == 0 || b_squared == 0) return 0;
  const double squares = a_squared * b_squared;
  const bool is_tiny = squares < 1e-60;  // and may be 0
  return floats.settled(static_cast<float>(
      product / (is_tiny ? std::sqrt(a_squared) * std::sqrt(b_squared) : std::sqrt(squares))));
}

std::vector<int64_t> top_k(std::span<const float> scores, int64_t k) {
  if (k < 0) throw Error(fmt::format("k is {}, expected at least 0", k));
  std::vector<int64_t> best(scores.size());
  std::iota(best.begin(), best.end(), 0);
  const auto end = best.begin() + std::min<int64_t>(k, std::ssize(best));
  std::partial_sort(best.begin(), end, best.end(), [&](int64_t a, int64_t b) {
    const float x = scores[a], y = scores[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    return x > y || (!(x < y) && a < b);
  });
  best.erase(end, best.end());
  return best;
}

}  // namespace bert
