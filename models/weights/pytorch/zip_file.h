// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace bert::models {

// The files in a zip archive, zip64 or not, by name. A compressed or encrypted file is an error
// that names it. Checksums are ignored, as torch.load does: torch.save can be told not to write
// them. Errors are std::runtime_error that begin with `path`.
std::map<std::string, std::span<const std::byte>> read_zip(std::span<const std::byte> bytes,
                                                           const std::string& path);

}  // namespace bert::models
