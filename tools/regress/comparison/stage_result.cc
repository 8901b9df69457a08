// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/comparison/stage_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace bert::tools {

void ErrorHistogram::add(double error) {
  if (error == 0) {
    ++zeros_;
  } else if (!std::isfinite(error)) {
    ++not_finite_;
  } else {
    const auto step = static_cast<int>(std::floor(2 * std::log10(error))) - kFirst;
    ++steps_[static_cast<size_t>(std::clamp(step, 0, kSteps - 1))];
  }
}

void StageResult::compare(double found, double expected, Place place) {
  const bool finite = std::isfinite(found) && std::isfinite(expected);
  const double error = finite ? std::abs(found - expected) : INFINITY;
  // Divided here, as the sum of a few of the largest float64 is infinite.
  const auto elements = static_cast<double>(reference.expected->elements());
  mean_error += error / elements;
  mean_expected += std::abs(expected) / elements;
  histogram.add(error);
  if (error > max_error) {
    max_error = error;
    max_error_at = place;
  }
  const double allowed = tolerance.atol + tolerance.rtol * std::abs(expected);
  // Where nothing is allowed, any error is beyond all others.
  const double excess = allowed > 0 ? error / allowed : error > 0 ? INFINITY : 0;
  const Element element = {place, found, expected, error, std::isfinite(allowed) ? excess : error};
  keep_if_bad(element);
  if (finite && error <= allowed) return;
  if (out_of_tolerance++ == 0) first = element;
}

void StageResult::keep_if_bad(const Element& element) {
  if (element.rank == 0) return;
  const auto is_worse = [](const Element& a, const Element& b) {
    return std::pair(a.rank, a.error) > std::pair(b.rank, b.error);
  };
  if (worst.size() == kWorst) {
    if (!is_worse(element, worst.back())) return;
    worst.pop_back();
  }
  worst.insert(std::ranges::upper_bound(worst, element, is_worse), element);
}

// Of what is not finite, NaN or infinity: its elements are out of tolerance by themselves.
double StageResult::allowed_mean() const {
  return std::max(tolerance.mean * mean_expected, tolerance.least_mean);
}

std::string StageResult::describe(Place at) const {
  return reference.by_token
             ? fmt::format("input {}, token {}, column {}", at.input, at.token, at.column)
             : fmt::format("input {}, column {}", at.input, at.column);
}

std::string StageResult::difference() const {
  const std::string& name = reference.expected->name;
  if (out_of_tolerance > 0) {
    return fmt::format(
        "{} differs first, at {}: found {:.9g}, expected {:.9g} ({} of {} elements "
        "beyond {:g} + {:g} |expected|)",
        name, describe(first.at), first.found, first.expected, out_of_tolerance,
        reference.expected->elements(), tolerance.atol, tolerance.rtol);
  }
  if (mean_is_within()) return "";
  return fmt::format(
      "{} has a mean error of {:.3g}, expected at most {:.3g} (the mean of |expected| is {:.3g})",
      name, mean_error, allowed_mean(), mean_expected);
}

}  // namespace bert::tools
