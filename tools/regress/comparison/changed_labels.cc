// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/comparison/changed_labels.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace bert::tools {
namespace {

const char* const kNoLabel = "not finite";

// None of scores that are not all finite.
std::optional<size_t> best(std::span<const double> scores) {
  if (!std::ranges::all_of(scores, [](double x) { return std::isfinite(x); })) return std::nullopt;
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

}  // namespace

void ChangedLabels::compare(int64_t input, std::span<const float> found,
                            std::span<const double> expected, int64_t columns) {
  const bert::Info& info = model_.info();
  const auto width = static_cast<size_t>(columns);
  const size_t rows = found.size() / width;
  const std::vector<double> values(found.begin(), found.end());
  // Of an answer's begin and end, the labels are tokens.
  if (info.head_task == bert::Task::answer) {
    for (size_t j = 0; j < width; ++j) {
      std::vector<double> a, b;
      for (size_t i = 0; i < rows; ++i) {
        a.push_back(values[i * width + j]);
        b.push_back(expected[i * width + j]);
      }
      compare_best(input, static_cast<int64_t>(j), a, b);
    }
    return;
  }
  for (size_t i = 0; i < rows; ++i) {
    const auto a = std::span(values).subspan(i * width, width);
    const auto b = expected.subspan(i * width, width);
    const auto token = static_cast<int64_t>(i);
    if (info.scores == bert::Scores::sigmoid) {
      compare_signs(input, token, a, b);
    } else if (width > 1) {
      compare_best(input, token, a, b);
    }
  }
}

void ChangedLabels::compare_best(int64_t input, int64_t token, std::span<const double> found,
                                 std::span<const double> expected) {
  ++compared_;
  const std::optional<size_t> now = best(found), before = best(expected);
  if (now && now == before) return;
  const bool are_tokens = model_.info().head_task == bert::Task::answer;
  const auto name = [&](std::optional<size_t> label) -> std::string {
    if (!label) return kNoLabel;
    return are_tokens ? fmt::format("token {}", *label) : name_of(*label, found.size());
  };
  add({.input = input,
       .token = token,
       .expected = name(before),
       .found = name(now),
       .margin = now && before ? expected[*before] - expected[*now] : NAN});
}

// Each label by itself is given or not.
void ChangedLabels::compare_signs(int64_t input, int64_t token, std::span<const double> found,
                                  std::span<const double> expected) {
  for (size_t j = 0; j < found.size(); ++j) {
    ++compared_;
    const auto label = [&](double score) -> std::string {
      if (!std::isfinite(score)) return kNoLabel;
      return (score > 0 ? "" : "not ") + name_of(j, found.size());
    };
    const bool finite = std::isfinite(found[j]) && std::isfinite(expected[j]);
    if (finite && (found[j] > 0) == (expected[j] > 0)) continue;
    add({.input = input,
         .token = token,
         .expected = label(expected[j]),
         .found = label(found[j]),
         .margin = finite ? std::abs(expected[j]) : NAN});
  }
}

void ChangedLabels::add(Change change) {
  ++changed_;
  if (changes_.size() < kMost) changes_.push_back(std::move(change));
}

std::string ChangedLabels::name_of(size_t label, size_t labels) const {
  const bert::Info& info = model_.info();
  if (labels == info.labels.size()) return info.labels[label];
  if (labels == static_cast<size_t>(info.vocabulary)) {
    try {
      return model_.tokenizer().token(static_cast<int32_t>(label));
    } catch (const bert::Error&) {  // a row beyond the vocabulary's tokens
    }
  }
  return fmt::format("{}", label);
}

}  // namespace bert::tools
