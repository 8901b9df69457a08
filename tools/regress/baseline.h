// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace bert::tools {

// What bert-regress --json wrote. Throws std::runtime_error if it is something else, or if a field
// that the page shows is missing or of another type.
nlohmann::ordered_json read_baseline(const std::string& path);

}  // namespace bert::tools
