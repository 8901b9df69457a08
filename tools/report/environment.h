// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"

namespace bert::tools {

// What a figure depends on: {"processor", "instruction_set", "system", "bert_infer", "onednn",
// "created"}, and of a model also "architecture", "adapter" if it has one, "precision", "backend",
// "product", "workers" and "threads".
nlohmann::ordered_json describe_environment();
nlohmann::ordered_json describe_environment(const bert::Model& model);

// The files that a model was read from: [{"name", "bytes", "sha256"}]. Reads them as a whole. They
// are named as in the directory, "1_Pooling/config.json", or by their whole path if they are
// elsewhere.
nlohmann::ordered_json describe_files(const std::string& directory, const bert::Info& info);

// Of a number, what a reader needs and JSON can hold: so many significant digits, null if it is not
// finite.
nlohmann::ordered_json rounded_number(double value, int digits = 6);

// The bytes of a file that an earlier run wrote. Throws std::runtime_error if it cannot be read.
std::string read_whole(const std::string& path);

}  // namespace bert::tools
