// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "models/weights/stored_tensor.h"

namespace bert::models {

struct ZipMember {
  std::span<const std::byte> bytes;
  std::optional<Checksum> checksum;
};

// The files in a zip archive, zip64 or not, by name. A compressed or encrypted file is an error
// that names it. A checksum of 0 counts as none: torch.save can be told not to compute them.
// Errors are std::runtime_error that begin with `path`.
std::map<std::string, ZipMember> read_zip(std::span<const std::byte> bytes,
                                          const std::string& path);

}  // namespace bert::models
