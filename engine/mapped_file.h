// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bert::engine {

// Owns a read-only mapping of a whole file. The file must not be truncated while it is mapped:
// reading past its new end would be a bus error (SIGBUS).
class MappedFile {
 public:
  // Maps the open regular file of this path and size; the descriptor may then be closed. Throws
  // std::runtime_error.
  MappedFile(std::string path, int descriptor, size_t size);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Gives the pages that lie entirely in `part` back to the system; using them again reads the
  // disk.
  void release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace bert::engine
