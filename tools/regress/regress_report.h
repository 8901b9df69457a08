// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tools/regress/comparison/regression.h"

namespace bert::tools {

// The lines for people.
std::string regress_table(const Regression& regression);

// All results as one JSON object, which --html shows and --baseline reads. It hashes the model's
// files. directory: of the model.
nlohmann::ordered_json regress_json(const Regression& regression, const std::string& directory);

// JUnit's XML, with a test case for each stage.
std::string junit_xml(const Regression& regression, const std::string& directory);

}  // namespace bert::tools
