// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/bert_infer.h"
#include "tools/regress/reference_file.h"

namespace bert::tools {

extern const char* const kRegressManual;

// A found value may differ from the expected one by atol + rtol * |expected|, and all values of a
// stage on average by mean times the average of |expected|, or by least_mean if that is more:
// values near 0 say nothing about the size of what they were computed from.
struct Tolerance {
  double atol, rtol, mean, least_mean;
};

struct RegressOptions {
  std::optional<std::string> model;  // none: the demo model
  std::string reference;
  std::optional<double> atol, rtol, mean;
  std::string html, junit, baseline;  // files; "": none
  bool json = false;
  bert::Options load;

  Tolerance tolerance(const std::string& precision, const ReferenceStage& stage) const;
};

}  // namespace bert::tools
