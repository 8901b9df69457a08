// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace bert::models {

// Reads LevelDB's table format (its doc/table_format.md), which TensorFlow uses for the index of a
// checkpoint, and calls entry(key, value) in the order of the keys. Every block's checksum is
// checked; compressed blocks are errors. Errors are std::runtime_error that begin with `path`.
void read_sorted_table(std::span<const std::byte> bytes, const std::string& path,
                       const std::function<void(std::string_view, std::string_view)>& entry);

}  // namespace bert::models
