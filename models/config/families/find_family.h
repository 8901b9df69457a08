// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/config/families/families.h"
#include "models/weights/json_file.h"

namespace bert::models {

// The row of families() for config.json's model_type; if several share it, auto_map and the
// tensors' names decide. Errors are std::runtime_error.
const Family& find_family(const JsonFile& file, const std::string& directory);

// Copies settings that the family's files store under other names to the names that are read.
void translate(JsonFile& file, const Family& family);

}  // namespace bert::models
