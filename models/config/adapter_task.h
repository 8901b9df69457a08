// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/config/config.h"
#include "models/weights/json_file.h"

namespace bert::models {

// The adapter that is added: `adapter`, or if that is empty the family's own, if the directory has
// it; a note says so.
std::string choose_adapter(const JsonFile& file, const std::string& directory,
                           const std::string& adapter, Config& config);

// PEFT's classes put a head on the adapter's model, store its weights with the adapter
// (modules_to_save) and name its kind in task_type. Sets config.json's architecture and number of
// labels accordingly. Returns whether there is such a head.
bool set_adapter_task(JsonFile& config, const Family& family, const std::string& directory,
                      const std::string& adapter);

}  // namespace bert::models
