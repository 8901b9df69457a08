// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

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

// The same of a run that ended with an error.
std::string junit_error(const std::string& directory, std::string_view message);

}  // namespace bert::tools
