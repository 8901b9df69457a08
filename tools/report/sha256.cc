// SPDX-License-Identifier: Apache-2.0
#include "tools/report/sha256.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <sha2.h>
#include <sys/types.h>  // libmd's header needs it first

namespace bert::tools {

std::string sha256_of(const std::string& path, const std::function<void(size_t)>& on_read) {
  std::ifstream file(path, std::ios::binary);
  const auto fail = [&] {
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  };
  if (!file) fail();
  SHA2_CTX sum;
  SHA256Init(&sum);
  std::vector<char> bytes(1 << 20);
  while (file.read(bytes.data(), std::ssize(bytes)), file.gcount() > 0) {
    const auto count = static_cast<size_t>(file.gcount());
    SHA256Update(&sum, reinterpret_cast<const uint8_t*>(bytes.data()), count);
    on_read(count);
  }
  if (file.bad()) fail();
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256Final(digest, &sum);
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace bert::tools
