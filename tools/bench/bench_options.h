// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"

namespace bert::tools {

extern const char* const kBenchManual;

struct BenchOptions {
  std::optional<std::string> model, shape;  // neither: the demo model
  std::string task = "hidden";
  std::vector<std::string> shapes;
  std::vector<bert::Precision> precisions = {bert::Precision::automatic};
  std::vector<int> threads = {0};
  bert::Options load;  // except precision and threads
  int runs = 7;
  bool profile = false, json = false, compare = false;
  std::string html, baseline;  // files; "": none

  BenchOptions() { load.workers = 1; }  // a shape is one batch
  // A page shows the profile too.
  bool measures_profile() const { return profile || !html.empty(); }
};

void declare(CLI::App& app, BenchOptions& options);

// Lengths of the inputs of a batch: "8x128", "lengths:17,31". Throws UsageError.
std::vector<int> parse_lengths(const std::string& shape);

}  // namespace bert::tools
