// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bert::models {

// Reads numbers and fields as protocol buffers and LevelDB's tables write them
// (protobuf.dev/programming-guides/encoding), and never past the end: that is an error that begins
// with `where`, which must outlive the reader.
class WireReader {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // of a number, of whichever kind
    std::string_view bytes;  // of a string or a message
  };

  WireReader(std::string_view bytes, const std::string& where) : rest_(bytes), where_(where) {}

  bool empty() const { return rest_.empty(); }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  uint64_t fixed(size_t size) {  // little-endian
    uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint64_t byte = fixed(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail();
  }

  Field field() {
    const uint64_t tag = varint();
    switch (tag & 7) {
      case 0:
        return {tag >> 3, varint(), {}};
      case 1:
        return {tag >> 3, fixed(8), {}};
      case 2:
        return {tag >> 3, 0, take(varint())};
      case 5:
        return {tag >> 3, fixed(4), {}};
      default:
        fail();
    }
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(where_ + " is cut short or damaged"); }

  std::string_view rest_;
  const std::string& where_;
};

}  // namespace bert::models
