// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/config/config.h"
#include "models/weights/json_file.h"

namespace bert::models {

// Called once config.json has been read: refuses remaining fields that would change the result, and
// adds one note about all those that neither this library nor transformers knows.
void check_other_keys(const JsonFile& file, Config& config);

}  // namespace bert::models
