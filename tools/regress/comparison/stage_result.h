// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/regress/reference_file.h"
#include "tools/regress/regress_options.h"

namespace bert::tools {

struct Place {
  int64_t input = 0, token = 0, column = 0;
};

struct Element {
  Place at;
  double found = 0, expected = 0;
  double error = 0;  // |found - expected|, infinite if one of them is not finite
  double rank = 0;   // error over what is allowed; the error itself if everything is
};

// How many errors have which size: two steps a power of ten.
class ErrorHistogram {
 public:
  static constexpr int kFirst = -30, kSteps = 42;  // 10^-15 to 10^6; what is beyond is in the ends

  void add(double error);
  int64_t zeros() const { return zeros_; }
  int64_t not_finite() const { return not_finite_; }
  // [kSteps]: errors from 10^((kFirst + i) / 2) up to the next
  const std::array<int64_t, kSteps>& steps() const { return steps_; }

 private:
  int64_t zeros_ = 0, not_finite_ = 0;
  std::array<int64_t, kSteps> steps_{};
};

// A stage of the reference, and the result of the comparison.
struct StageResult {
  static constexpr size_t kWorst = 10;

  ReferenceStage reference;
  Tolerance tolerance;
  bool seen = false;
  double max_error = 0, mean_error = 0;
  double mean_expected = 0;      // of |expected|
  int64_t out_of_tolerance = 0;  // elements
  Place max_error_at = {};
  Element first = {};  // out of tolerance
  ErrorHistogram histogram = {};
  std::vector<Element> worst = {};  // at most kWorst, the worst first

  void compare(double found, double expected, Place place);
  double allowed_mean() const;
  bool mean_is_within() const { return !(mean_error > allowed_mean()); }
  bool is_within() const { return out_of_tolerance == 0 && mean_is_within(); }
  std::string describe(Place at) const;
  // What is out of tolerance, in one sentence without a period; "" if nothing is.
  std::string difference() const;

 private:
  void keep_if_bad(const Element& element);
};

}  // namespace bert::tools
