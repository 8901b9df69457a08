// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace bert::tools {

// Appends a JSON string. Characters that a terminal obeys or hides are escaped (\u001b), and bytes
// that are no UTF-8 become U+FFFD.
void append_quoted(std::string& line, std::string_view text);

// Appends JSON in the style of every answer, on one line: {"index": 0, "logits": [0.25, -1.5]}.
void append_json(std::string& line, const nlohmann::ordered_json& value);

}  // namespace bert::tools
