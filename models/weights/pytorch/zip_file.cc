// SPDX-License-Identifier: Apache-2.0
//
// Signatures and offsets of fields: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.
#include "models/weights/pytorch/zip_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <libdeflate.h>

namespace bert::models {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kAbsent = 0xffffffff;  // the value is in the zip64 field
constexpr size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;

uint32_t checksum_of(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  std::map<std::string, ZipMember> read() {
    const auto [begin, size, count] = directory();
    std::map<std::string, ZipMember> files;
    uint64_t at = begin, all = 0;  // bytes of the files, which would overlap if they had more
    for (uint64_t i = 0; i < count; ++i) {
      if (at + kEntrySize > begin + size || number<uint32_t>(at) != kEntry) {
        fail(fmt::format("the archive's directory has {} entries, expected {}", i, count));
      }
      const size_t name = number<uint16_t>(at + 28), extra = number<uint16_t>(at + 30),
                   comment = number<uint16_t>(at + 32);
      if (at + kEntrySize + name + extra + comment > begin + size) {
        fail("the archive's directory is truncated");
      }
      const std::string key(text(at + kEntrySize, name));
      const auto [found, is_new] = files.emplace(key, file(at, key, extra));
      if (!is_new) fail(fmt::format("duplicate '{}' in the archive", key));
      all += found->second.bytes.size();
      if (all > bytes_.size()) fail("the archive's files overlap");
      at += kEntrySize + name + extra + comment;
    }
    return files;
  }

 private:
  struct Directory {
    uint64_t begin, size, count;
  };

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(path_ + ": " + reason);
  }

  void require(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      fail(
          fmt::format("the archive refers to bytes {} to {}, but the file has {} (is it complete?)",
                      at, at + size, bytes_.size()));
    }
  }

  template <typename T>
  T number(uint64_t at) const {
    require(at, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::string_view text(uint64_t at, size_t size) const {
    require(at, size);
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }

  // The end record, which only a comment may follow, locates the directory.
  Directory directory() const {
    for (size_t back = kEndSize; back <= std::min<size_t>(bytes_.size(), kEndSize + 0xffff);
         ++back) {
      const size_t at = bytes_.size() - back;
      if (number<uint32_t>(at) != kEnd || number<uint16_t>(at + 20) != back - kEndSize) continue;
      Directory found{.begin = number<uint32_t>(at + 16),
                      .size = number<uint32_t>(at + 12),
                      .count = number<uint16_t>(at + 10)};
      if (at >= kLocatorSize && number<uint32_t>(at - kLocatorSize) == kLocator64) {
        const auto end = number<uint64_t>(at - kLocatorSize + 8);
        require(end, kEnd64Size);
        if (number<uint32_t>(end) != kEnd64) fail("the archive's zip64 record is missing");
        found = {.begin = number<uint64_t>(end + 48),
                 .size = number<uint64_t>(end + 40),
                 .count = number<uint64_t>(end + 32)};
      }
      require(found.begin, found.size);
      return found;
    }
    fail("the archive has no end record (is the file complete?)");
  }

  // Replaces the numbers that the entry marks as absent by those in its zip64 field, which has them
  // in this order.
  void read_zip64(uint64_t at, size_t extra, std::initializer_list<uint64_t*> numbers) const {
    const uint64_t end = at + extra;
    while (at + 4 <= end && number<uint16_t>(at) != 1) at += 4u + number<uint16_t>(at + 2);
    const uint64_t field = at + 4 <= end ? std::min(end, at + 4 + number<uint16_t>(at + 2)) : end;
    at += 4;
    for (uint64_t* value : numbers) {
      if (*value != kAbsent) continue;
      if (at + 8 > field) fail("a zip64 field of the archive is truncated");
      *value = number<uint64_t>(at);
      at += 8;
    }
  }

  ZipMember file(uint64_t entry, const std::string& name, size_t extra) const {
    const auto flags = number<uint16_t>(entry + 8), method = number<uint16_t>(entry + 10);
    uint64_t stored = number<uint32_t>(entry + 20), size = number<uint32_t>(entry + 24),
             local = number<uint32_t>(entry + 42);
    if (flags & 1)
      fail(fmt::format("the archive's '{}' is encrypted, which is not supported", name));
    if (method != 0) {
      fail(fmt::format("the archive's '{}' is compressed (method {}), which is not supported", name,
                       method));
    }
    read_zip64(entry + kEntrySize + name.size(), extra, {&size, &stored, &local});
    if (stored != size) {
      fail(fmt::format("the archive's '{}' has {} stored bytes, expected {}", name, stored, size));
    }
    require(local, kLocalSize);
    const size_t name_size = number<uint16_t>(local + 26), skipped = number<uint16_t>(local + 28);
    if (number<uint32_t>(local) != kLocal || text(local + kLocalSize, name_size) != name) {
      fail(fmt::format("the archive's '{}' is not where the directory says", name));
    }
    const uint64_t begin = local + kLocalSize + name_size + skipped;
    require(begin, size);
    ZipMember member{bytes_.subspan(begin, size), std::nullopt};
    if (const auto expected = number<uint32_t>(entry + 16); expected != 0 && kVerifiesChecksums) {
      member.checksum = {checksum_of, expected, member.bytes,
                         fmt::format("the archive's '{}'", name)};
    }
    return member;
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
};

}  // namespace

std::map<std::string, ZipMember> read_zip(std::span<const std::byte> bytes,
                                          const std::string& path) {
  return ZipReader(bytes, path).read();
}

}  // namespace bert::models
