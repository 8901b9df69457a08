// SPDX-License-Identifier: Apache-2.0
//
// The most probable labels that mark whole spans, against all sequences of labels.
#include "models/tasks/span_path.h"

#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace bert::models {
namespace {

const std::vector<std::string> kLabels = {"S-A", "I-B", "O",   "E-A", "B-A",
                                          "I-A", "E-B", "B-B", "S-B"};

// What the step from one label to another adds, or nothing if it is not allowed.
std::optional<double> step(const std::string& from, const std::string& to,
                           const SpanTags::Biases& biases) {
  const bool opens = to[0] == 'B' || to[0] == 'S';
  if (from[0] == 'B' || from[0] == 'I') {
    if (to == "O" || opens || from.substr(1) != to.substr(1)) return std::nullopt;
    return to[0] == 'I' ? biases.inside_to_continue : biases.inside_to_end;
  }
  if (from == "O") {
    if (to == "O") return biases.stay_outside;
    return opens ? std::optional(biases.outside_to_start) : std::nullopt;
  }
  if (to == "O") return biases.end_to_outside;
  return opens ? std::optional(biases.end_to_start) : std::nullopt;
}

double score(const std::vector<int>& path, const Output& logits, const SpanTags::Biases& biases,
             bool begins, bool ends) {
  const char first = kLabels[path.front()][0], last = kLabels[path.back()][0];
  if (begins && (first == 'I' || first == 'E')) return -INFINITY;
  if (ends && (last == 'B' || last == 'I')) return -INFINITY;
  double sum = logits.row(0)[path[0]];
  for (size_t t = 1; t < path.size(); ++t) {
    const auto bias = step(kLabels[path[t - 1]], kLabels[path[t]], biases);
    if (!bias) return -INFINITY;
    sum += *bias + logits.row(static_cast<int64_t>(t))[path[t]];
  }
  return sum;
}

TEST(SpanPath, IsTheMostProbableOfAll) {
  std::optional<SpanTags> tags = read_span_tags(kLabels, "nowhere");
  ASSERT_TRUE(tags);
  std::mt19937 generator(5);
  std::normal_distribution<float> normal(0, 2);
  const auto labels = static_cast<int>(kLabels.size());
  for (int round = 0; round < 24; ++round) {
    const int rows = 1 + round % 4;
    const bool begins = round & 4, ends = round & 8;
    if (round >= 8) {
      tags->biases = {normal(generator), normal(generator), normal(generator),
                      normal(generator), normal(generator), normal(generator)};
    }
    Output logits(rows, labels);
    for (float& logit : logits.values) logit = normal(generator);
    std::vector<int> best, path(rows);
    double most = -INFINITY;
    const auto all = static_cast<int>(std::pow(labels, rows));
    for (int i = 0; i < all; ++i) {
      for (int t = 0, left = i; t < rows; ++t, left /= labels) path[t] = left % labels;
      const double of_path = score(path, logits, tags->biases, begins, ends);
      if (of_path > most) {
        most = of_path;
        best = path;
      }
    }
    EXPECT_EQ(best_path(*tags, {logits, 0, rows}, begins, ends), best) << round;
  }
}

TEST(SpanPath, NeedsAllFourLabelsOfEachKind) {
  const auto marks = [](const std::vector<std::string>& labels) {
    return read_span_tags(labels, "nowhere").has_value();
  };
  EXPECT_TRUE(marks({"O", "B-X", "I-X", "E-X", "S-X"}));
  EXPECT_FALSE(marks({"O", "B-X", "I-X"}));
  EXPECT_FALSE(marks({"O", "B-X", "I-X", "E-X"}));
  EXPECT_FALSE(marks({"B-X", "I-X", "E-X", "S-X"}));
  EXPECT_FALSE(marks({"O", "B-X", "I-X", "E-X", "S-Y"}));
  EXPECT_FALSE(marks({"O", "B-X", "I-X", "E-X", "S-X", "X"}));
  EXPECT_FALSE(marks({"O", "B-X", "I-X", "E-X", "S-X", "S-X"}));
  EXPECT_FALSE(marks({"O"}));
}

TEST(SpanPath, OfNothingIsNothing) {
  const std::optional<SpanTags> tags = read_span_tags(kLabels, "nowhere");
  EXPECT_TRUE(best_path(*tags, {Output(2, 9), 1, 1}, true, true).empty());
}

}  // namespace
}  // namespace bert::models
