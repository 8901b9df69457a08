// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace bert::tools {

// The SHA-256 of a file's bytes, in hexadecimal, as sha256sum prints it. Throws std::runtime_error
// if the file cannot be read. Calls on_read(bytes) as it goes on.
std::string sha256_of(const std::string& path, const std::function<void(size_t)>& on_read);

}  // namespace bert::tools
