// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/span_path.h"

#include <limits>

namespace bert::models {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Best {
  double score = kNever;
  int label = 0;
  void take(double other, int of_label) {
    if (other > score) *this = {other, of_label};
  }
};

// The best sequences up to a token, by its label, and what comes before each.
class Paths {
 public:
  Paths(const SpanTags& tags, size_t labels) : tags_(tags), scores_(labels, kNever) {}

  void begin(std::span<const float> logits, bool inside) {
    scores_[tags_.outside] = logits[tags_.outside];
    for (const auto& kind : tags_.kinds) {
      for (const int label : {kind.begin, kind.single}) scores_[label] = logits[label];
      if (!inside) continue;
      for (const int label : {kind.inside, kind.end}) scores_[label] = logits[label];
    }
  }

  // Returns by label the one before it.
  std::vector<int> step(std::span<const float> logits) {
    std::vector<int> before(scores_.size());
    std::vector<double> next(scores_.size(), kNever);
    const auto go = [&](const Best& from, int to) {
      before[to] = from.label;
      next[to] = from.score + logits[to];
    };
    const auto& biases = tags_.biases;
    Best ended;
    for (const auto& kind : tags_.kinds) {
      for (const int label : {kind.end, kind.single}) ended.take(scores_[label], label);
    }
    const double outside = scores_[tags_.outside];
    Best to_outside = {outside + biases.stay_outside, tags_.outside};
    to_outside.take(ended.score + biases.end_to_outside, ended.label);
    Best to_start = {outside + biases.outside_to_start, tags_.outside};
    to_start.take(ended.score + biases.end_to_start, ended.label);
    go(to_outside, tags_.outside);
    for (const auto& kind : tags_.kinds) {
      Best open;
      for (const int label : {kind.begin, kind.inside}) open.take(scores_[label], label);
      go(to_start, kind.begin);
      go(to_start, kind.single);
      go({open.score + biases.inside_to_continue, open.label}, kind.inside);
      go({open.score + biases.inside_to_end, open.label}, kind.end);
    }
    scores_ = std::move(next);
    return before;
  }

  int best(bool inside) const {
    Best last;
    last.take(scores_[tags_.outside], tags_.outside);
    for (const auto& kind : tags_.kinds) {
      for (const int label : {kind.end, kind.single}) last.take(scores_[label], label);
      if (!inside) continue;
      for (const int label : {kind.begin, kind.inside}) last.take(scores_[label], label);
    }
    return last.label;
  }

 private:
  const SpanTags& tags_;
  std::vector<double> scores_;
};

}  // namespace

std::vector<int> best_path(const SpanTags& tags, LogitRows rows, bool begins, bool ends) {
  if (rows.begin == rows.end) return {};
  Paths paths(tags, rows.logits.row(rows.begin).size());
  paths.begin(rows.logits.row(rows.begin), !begins);
  std::vector<std::vector<int>> before;
  for (int64_t row = rows.begin + 1; row < rows.end; ++row) {
    before.push_back(paths.step(rows.logits.row(row)));
  }
  std::vector<int> path = {paths.best(!ends)};
  for (auto of_row = before.rbegin(); of_row != before.rend(); ++of_row) {
    path.push_back((*of_row)[path.back()]);
  }
  return {path.rbegin(), path.rend()};
}

}  // namespace bert::models
