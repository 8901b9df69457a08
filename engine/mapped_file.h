// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bert::engine {

// Owns a read-only map of a whole regular file. Errors are std::runtime_error that name the path.
// The file must not be cut short while it is mapped: no program can read what is no longer there.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Gives the pages that lie wholly in `part` back to the system. They can be read again: from
  // disk.
  void release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace bert::engine
