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

// Parses one line: text, or ids that are used as they are. Throws std::runtime_error with the
// reason if it is neither; the message does not name the line.
//   tsv    first, or first<TAB>second; one \r at the end is dropped
//   jsonl  {"first": text, "second"?: text} or {"ids": [...], "type_ids"?: [...]}, where type_ids
//          default to 0
std::variant<bert::Input, bert::Encoding> parse_line(std::string_view line, InputFormat format);

// The same for multiple choice: first<TAB>choice<TAB>choice..., or {"first": text,
// "choices": [text, ...]}.
bert::Choices parse_choices(std::string_view line, InputFormat format);

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

// Lines of a file or pipe, in constant memory: a line longer than 64 MiB is an error. Does not own
// the descriptor.
class LineReader {
 public:
  // When stop_fd becomes readable, reading ends as at the end of the input: this lets another
  // thread end the wait for a silent pipe.
  LineReader(int fd, std::string name, int stop_fd)
      : fd_(fd), stop_fd_(stop_fd), name_(std::move(name)) {}

  // The next line without its \n, valid until the next call. The last one needs no \n.
  std::optional<std::string_view> next();
  bool ready() const;                         // whether next() would not wait for input
  int64_t number() const { return number_; }  // of the line that next() returned last, from 1

 private:
  void fill();

  int fd_;
  int stop_fd_;
  std::string name_;
  std::string buffer_;  // what next() has not returned yet begins at begin_
  size_t begin_ = 0;
  int64_t number_ = 0;
  bool ended_ = false;
};

// "FILE:LINE: reason", as every bad line is reported.
std::string line_error(std::string_view file, int64_t line, std::string_view reason);

// The library's message about a call's only input, without its "input 0: ", for callers that name
// the input by its line.
std::string_view reason_alone(std::string_view what);

}  // namespace bert::tools
