// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/infer/inputs/task_inputs.h"

namespace bert::tools {

// Keys that are not the input's own: those to keep, and whether others are ignored or are errors.
struct OtherKeys {
  const std::vector<std::string>& keep;
  bool are_ignored = false;
};

// {"first": text, "second"?: text or null} or {"ids": [...], "type_ids"?: [...]}, where type_ids
// default to 0; if it chooses, {"first": text, "choices": [text, ...]}. Of other keys, those to
// keep may have any value, and are put in `kept` as in a Source. Throws std::runtime_error with the
// reason.
LineInput parse_json_line(std::string_view line, bool chooses, const OtherKeys& others,
                          std::string& kept);

}  // namespace bert::tools
