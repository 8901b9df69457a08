// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace bert::models {

// The files in a zip archive, zip64 or not, by name. Each must be stored as it is: what is
// compressed or encrypted is refused by name. Checksums are not looked at, as torch.load does not
// and torch.save can be told to write none. Errors are std::runtime_error that begin with `path`.
std::map<std::string, std::span<const std::byte>> read_zip(std::span<const std::byte> bytes,
                                                           const std::string& path);

}  // namespace bert::models
