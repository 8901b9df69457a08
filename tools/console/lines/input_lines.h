// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tools/console/lines/byte_reader.h"

namespace bert::tools {

constexpr size_t kMaxLineBytes = size_t{64} << 20;

// Owns the descriptor of the input. "-" is standard input.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int fd_;
};

// A line of more than the most bytes; what() is the reason alone.
class LongLine : public std::runtime_error {
 public:
  explicit LongLine(size_t most);
};

// Lines of a file or pipe, which may be compressed, in constant memory. Does not own the
// descriptor.
class LineReader {
 public:
  // When stop_fd becomes readable, reading ends as at the end of the input: this lets another
  // thread end the wait for a silent pipe.
  LineReader(int fd, const std::string& name, int stop_fd, size_t most = kMaxLineBytes)
      : bytes_(fd, name, stop_fd), most_(most) {}

  // The next line without its \n, valid until the next call. The last one needs no \n. Throws
  // LongLine, after which the line that follows is next.
  std::optional<std::string_view> next();
  // After LongLine: that line, piece by piece, each valid until the next call.
  std::optional<std::string_view> rest_of_long();
  bool has_end() const { return has_end_; }  // whether the line that next() returned had its \n
  bool ready() const;                        // whether next() would not wait for input
  std::string_view waiting() const { return std::string_view(buffer_).substr(begin_); }
  int64_t number() const { return number_; }  // of the line that next() returned last, from 1

 private:
  std::string_view take(size_t length, bool has_end);  // from the beginning of what is left
  void fill();

  ByteReader bytes_;
  const size_t most_;   // bytes of a line
  std::string buffer_;  // what next() has not returned yet begins at begin_
  size_t begin_ = 0;
  int64_t number_ = 0;
  bool ended_ = false, has_end_ = false;
  bool is_long_ = false;  // the rest of a line that was too long comes next
};

// "FILE:LINE: reason", as every bad line is reported.
std::string line_error(std::string_view file, int64_t line, std::string_view reason);

// The library's message about a call's only input, without its "input 0: ", for callers that name
// the input by its line.
std::string_view reason_alone(std::string_view what);

}  // namespace bert::tools
