// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// Reads a file of torch.save that contains a dict of tensors by name and nothing else (see Pickle):
// a zip archive, which torch has written since 1.6, or the older format. A tensor must lie within
// its storage, with any strides that don't make elements overlap; tensors may share a storage.
// Errors are std::runtime_error that name the file and the tensor.
WeightFile read_pytorch(const std::string& path);

}  // namespace bert::models
