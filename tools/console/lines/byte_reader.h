// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace bert::tools {

// The bytes of a file or pipe, decompressed if they begin as gzip's or zstd's do, whatever the
// file's name: neither beginning is well-formed UTF-8, so no text begins so. Does not own the
// descriptor.
class ByteReader {
 public:
  // When stop_fd becomes readable, reading ends as at the end of the input: this lets another
  // thread end the wait for a silent pipe. The name is for error messages.
  ByteReader(int fd, std::string name, int stop_fd);
  ~ByteReader();

  // Appends some bytes, waiting for them; false at the end. Throws std::runtime_error where the
  // input cannot be read, or is compressed but damaged or cut short.
  bool read_more(std::string& to);
  bool is_stopped() const { return is_stopped_; }

  class Codec;

 private:
  bool read_raw(std::string& to);
  void recognise();  // reads until it is known whether the bytes are compressed
  bool decompress(std::string& to);

  const int fd_, stop_fd_;
  const std::string name_;
  bool is_recognised_ = false, is_stopped_ = false;
  std::unique_ptr<Codec> codec_;  // null: the bytes as they are
  std::string raw_;               // read but not passed on
};

}  // namespace bert::tools
