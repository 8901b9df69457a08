// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/weights/weight_file.h"

namespace bert::models {

// A file of torch.save that holds a dict of tensors by name and nothing else (see Pickle): a zip
// archive as torch has written it since 1.6, or what it wrote before. A tensor must lie inside of
// its storage and have no two elements in one place; it may lie there in any order, and tensors may
// share a storage. Errors are std::runtime_error that name the file and the tensor.
WeightFile read_pytorch(const std::string& path);

}  // namespace bert::models
