// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/config/families/families.h"
#include "models/weights/json_file.h"

namespace bert::models {

// The row of families() that config.json's model_type stands for, and where several have the same,
// its auto_map and the names of the tensors. Errors are std::runtime_error.
const Family& find_family(const JsonFile& file, const std::string& directory);

// Gives the settings that the family's files may name otherwise the names that are read.
void translate(JsonFile& file, const Family& family);

}  // namespace bert::models
