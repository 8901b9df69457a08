// SPDX-License-Identifier: Apache-2.0
#include "engine/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bert::engine {
MappedFile::MappedFile(std::string path, int descriptor, size_t size) : path_(std::move(path)) {
  if (size == 0) return;  // mmap rejects 0 bytes; the reader decides if a file may be empty
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) {
    throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto first =
      static_cast<size_t>(part.data() - bytes_.data());  // the mapping begins on a page
  const size_t begin = (first + page - 1) / page * page, end = (first + part.size()) / page * page;
  if (begin < end) {
    madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace bert::engine
