// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/bert_infer.h"

namespace bert::tools {

extern const char* const kRegressManual;

// A found value may differ from the expected one by atol + rtol * |expected|, and all values of a
// stage on average by mean times the average of |expected|.
struct Tolerance {
  double atol, rtol, mean;
};

struct RegressOptions {
  std::optional<std::string> model;  // none: the demo model
  std::string reference;
  std::optional<double> atol, rtol, mean;
  std::string html, junit, baseline;  // files; "": none
  bool json = false;
  bert::Options load;

  // hidden_states: of a stage that is the embeddings or a layer.
  Tolerance tolerance(const std::string& precision, bool hidden_states) const;
};

}  // namespace bert::tools
