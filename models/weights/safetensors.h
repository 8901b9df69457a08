// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// A safetensors file: eight bytes of header length, a JSON header, data. The header is checked
// whole: the tensors must lie end to end and fill the data, each as long as its dtype and shape
// say. Errors are std::runtime_error that name the file and the tensor.
WeightFile read_safetensors(const std::string& path);

}  // namespace bert::models
