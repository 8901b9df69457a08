// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bert::tokenizer {

bool file_exists(const std::string& path);
// Throws where the file cannot be read.
std::string read_file(const std::string& path);
// Throws where it is not JSON.
nlohmann::json parse_json(const std::string& path);
// The lines of a vocabulary without their line ends and without white space at their ends, as
// Hugging Face reads them. Throws on a byte-order mark and on invalid UTF-8, with the number of the
// line.
std::vector<std::string> read_vocabulary_lines(const std::string& path);

}  // namespace bert::tokenizer
