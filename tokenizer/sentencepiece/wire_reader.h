// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace bert::tokenizer {

// Reads the numbers and fields of protocol buffers and LevelDB's tables
// (protobuf.dev/programming-guides/encoding). Reading past the end is an error. Errors begin with
// `where`, which must outlive the reader.
class WireReader {
 public:
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    uint64_t number = 0;
    int type = kVarint;
    uint64_t value = 0;       // of a number of any type
    std::string_view bytes;   // of a string or a message
    std::string_view record;  // the whole field, with its tag
  };

  WireReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  bool empty() const { return at_ == bytes_.size(); }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) fail("unexpected end");
    at_ += size;
    return bytes_.substr(at_ - size, size);
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
    fail("found a number of more than ten bytes");
  }

  Field field() {
    const size_t begin = at_;
    const uint64_t tag = varint();
    Field field;
    field.number = tag >> 3;
    field.type = static_cast<int>(tag & 7);
    if (field.number == 0) fail("found field 0");
    switch (field.type) {
      case kVarint:
        field.value = varint();
        break;
      case kFixed64:
        field.value = fixed(8);
        break;
      case kBytes:
        field.bytes = take(varint());
        break;
      case kFixed32:
        field.value = fixed(4);
        break;
      default:
        fail(fmt::format("found wire type {}", field.type));
    }
    field.record = bytes_.substr(begin, at_ - begin);
    return field;
  }

  // Throws if the field has another wire type.
  void expect(const Field& field, Type type, std::string_view name) const {
    if (field.type == type) return;
    fail(fmt::format("{} has wire type {}, expected {}", name, field.type, static_cast<int>(type)));
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw std::runtime_error(
        fmt::format("{} is cut short or damaged: {} at byte {} of it", where_, reason, at_));
  }

  std::string_view bytes_;
  const std::string& where_;
  size_t at_ = 0;
};

}  // namespace bert::tokenizer
