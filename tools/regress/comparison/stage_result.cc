// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/comparison/stage_result.h"

#include <algorithm>
#include <cmath>

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
  error_sum += error;
  expected_sum += std::abs(expected);
  histogram.add(error);
  if (error > max_error) {
    max_error = error;
    max_error_at = place;
  }
  const double allowed = tolerance.atol + tolerance.rtol * std::abs(expected);
  const bool is_limited = allowed > 0 && std::isfinite(allowed);
  const Element element = {place, found, expected, error, is_limited ? error / allowed : error};
  keep_if_bad(element);
  if (finite && error <= allowed) return;
  if (out_of_tolerance++ == 0) first = element;
}

void StageResult::keep_if_bad(const Element& element) {
  if (element.rank == 0) return;
  if (worst.size() == kWorst) {
    if (element.rank <= worst.back().rank) return;
    worst.pop_back();
  }
  const auto place =
      std::ranges::find_if(worst, [&](const Element& other) { return other.rank < element.rank; });
  worst.insert(place, element);
}

double StageResult::mean_error() const {
  return error_sum / static_cast<double>(reference.expected->elements());
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
  return fmt::format("{} differs by {:.3g} of its mean, expected at most {:g}", name,
                     error_sum / expected_sum, tolerance.mean);
}

}  // namespace bert::tools
