// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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
// One row of --json; a page shows them all. Of the environment, the processor and its instruction
// set are in the row.
nlohmann::ordered_json timing_json(const TimedShape& timed, const std::string& task,
                                   const nlohmann::ordered_json& environment);

// Rows of an earlier run.
class BenchBaseline {
 public:
  // Lines that --json wrote. Throws std::runtime_error if they are not.
  explicit BenchBaseline(const std::string& path);

  // Adds "baseline": {"median_ms", "change", "change_interval"}, of which 0.05 is 5 % slower, if
  // the same was timed then, the last time; "change_interval" is null if either has too few runs,
  // and "processor" is there if it was another. Returns what a user should know, or "".
  std::string compare(nlohmann::ordered_json& row) const;
  // The same for people, "" if it was not.
  static std::string text(const nlohmann::ordered_json& row);

 private:
  std::string path_;
  std::vector<nlohmann::ordered_json> rows_;
};

}  // namespace bert::tools
