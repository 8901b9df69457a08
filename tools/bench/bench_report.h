// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/bench/timing.h"

namespace bert::tools {

struct TimedShape {
  std::string shape;  // as on the command line
  size_t batch;       // inputs
  Work work;
  Timing timing;
  bert::Info info;  // of the model
};

std::string timing_header();
std::string timing_text(const TimedShape& timed);
// One row of --json; a page shows them all.
nlohmann::ordered_json timing_json(const TimedShape& timed, const std::string& task);

// Rows of an earlier run.
class BenchBaseline {
 public:
  // Lines that --json wrote. Throws std::runtime_error if they are not.
  explicit BenchBaseline(const std::string& path);

  // Adds "baseline": {"median_ms", "change", "change_interval"}, of which 0.05 is 5 % slower, if
  // the same was timed then.
  void compare(nlohmann::ordered_json& row) const;
  // The same for people, "" if it was not.
  static std::string text(const nlohmann::ordered_json& row);

 private:
  std::vector<nlohmann::ordered_json> rows_;
};

}  // namespace bert::tools
