// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/profile.h"
#include "models/bert_infer.h"
#include "tools/bench/bench_options.h"
#include "tools/console/progress_bar.h"

namespace bert::tools {

// What a batch of these lengths takes.
struct Work {
  int64_t tokens = 0;
  double flops = 0;
  double bytes = 0;  // of the weights read
};

struct Timing {
  std::string backend, product;
  Work work = {};
  std::vector<double> seconds = {};  // of each run, ascending
  double mean = 0;                   // which the profile's parts and its rest add up to
  double bandwidth = 0;              // 0: neither it nor the profile was measured
  double onednn_peak = 0, multiply_add_peak = 0;  // the latter 0 if there is none
  engine::Profile profile{};                      // of an average run

  double peak() const { return std::max(onednn_peak, multiply_add_peak); }
  double median() const {
    return (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
  }
  double min() const { return seconds.front(); }
  double quantile(double share) const;
  // The median's confidence interval of 95 % or more, which fewer than 6 runs do not have.
  std::optional<std::pair<double, double>> median_interval() const;
};

// Of all models, which run in turns. Adds 1 to the bar.
std::vector<Timing> time_shape(const BenchOptions& options, const std::vector<bert::Model>& models,
                               const std::vector<int>& lengths, ProgressBar& bar);

}  // namespace bert::tools
