// SPDX-License-Identifier: Apache-2.0
//
// Values of bert-infer's options that CLI11 does not read. All throw UsageError.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bert::tools {

std::vector<std::string> names_of(std::string_view text);  // of --keep: "id,label"
// Of --labels: "music, weather", as Hugging Face's pipeline reads them but for empty ones.
std::vector<std::string> labels_of(std::string_view text);
float probability_of(const std::string& text);      // of --threshold
std::vector<int> layers_of(std::string_view text);  // of --layers: "0,-1"
void check_utf8(const char* option, std::string_view text);

}  // namespace bert::tools
