// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// Reads a safetensors file: the header's length in eight bytes, a JSON header, the data. The
// tensors must cover the data without overlaps or gaps, and each must be as long as its dtype and
// shape require. Errors are std::runtime_error that name the file and the tensor.
WeightFile read_safetensors(const std::string& path);

}  // namespace bert::models
