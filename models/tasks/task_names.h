// SPDX-License-Identifier: Apache-2.0
//
// The names of Info's enumerators, for the C API, the Python package and messages.
#pragma once

#include "models/bert_infer.h"

namespace bert::models {

// As bert-infer's --task spells those that it has: "fill-mask".
const char* name_of(Task task);
const char* name_of(Scores scores);

}  // namespace bert::models
