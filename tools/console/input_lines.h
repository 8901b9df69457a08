// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "models/bert_infer.h"

namespace bert::tools {

enum class InputFormat { tsv, jsonl };

// The input that a line holds: text, or ids that are taken as they are. Throws std::runtime_error
// with the reason where it holds neither; the message does not name the line.
//   tsv    first, or first<TAB>second; one \r at the end is dropped
//   jsonl  {"first": text, "second"?: text} or {"ids": [...], "type_ids"?: [...]}; type_ids default
//   to 0
std::variant<bert::Input, bert::Encoding> parse_line(std::string_view line, InputFormat format);

// The same for a model of multiple choice: first<TAB>choice<TAB>choice..., or {"first": text,
// "choices": [text, ...]}.
bert::Choices parse_choices(std::string_view line, InputFormat format);

// Descriptor of the input, closed at the end. "-" is standard input.
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

// Lines of a file or pipe, in constant memory: one longer than 64 MiB is an error. Does not own the
// descriptor.
class LineReader {
 public:
  // Reading stops, as at the end of the input, when stop_fd becomes readable: so another thread can
  // end a wait for a pipe that says nothing.
  LineReader(int fd, std::string name, int stop_fd)
      : fd_(fd), stop_fd_(stop_fd), name_(std::move(name)) {}

  // The next line without its \n, valid until the next call. The last one needs no \n.
  std::optional<std::string_view> next();
  bool ready() const;                         // whether next() can answer without waiting for input
  int64_t number() const { return number_; }  // of the line that next() gave last, from 1

 private:
  void fill();

  int fd_;
  int stop_fd_;
  std::string name_;
  std::string buffer_;  // what was read and not yet given begins at begin_
  size_t begin_ = 0;
  int64_t number_ = 0;
  bool ended_ = false;
};

// "FILE:LINE: reason", the form in which every bad line is reported.
std::string line_error(std::string_view file, int64_t line, std::string_view reason);

// What the library says of an only input, without its place: who names that better calls this.
std::string_view reason_alone(std::string_view what);

}  // namespace bert::tools
