// SPDX-License-Identifier: Apache-2.0
#include "tools/console/lines/input_lines.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/console/signals/stop.h"

namespace bert::tools {

LongLine::LongLine(size_t most)
    : runtime_error(fmt::format("the line is longer than {} bytes", most)) {}

std::optional<std::string_view> LineReader::next() {
  while (rest_of_long()) continue;
  size_t scanned = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', scanned);
    has_end_ = end != std::string::npos;
    const size_t length = (has_end_ ? end : buffer_.size()) - begin_;
    if (length > most_) {
      ++number_;
      is_long_ = true;
      throw LongLine(most_);
    }
    if (has_end_ || (ended_ && length > 0)) {
      ++number_;
      return take(length, has_end_);
    }
    if (ended_) return std::nullopt;
    scanned = length;
    fill();
  }
}

std::optional<std::string_view> LineReader::rest_of_long() {
  while (is_long_ && begin_ == buffer_.size() && !ended_) fill();
  if (!is_long_ || begin_ == buffer_.size()) return is_long_ = false, std::nullopt;
  const size_t end = buffer_.find('\n', begin_);
  is_long_ = end == std::string::npos;
  return take((is_long_ ? buffer_.size() : end) - begin_, !is_long_);
}

std::string_view LineReader::take(size_t length, bool has_end) {
  const std::string_view taken = std::string_view(buffer_).substr(begin_, length);
  begin_ += length + (has_end ? 1 : 0);
  return taken;
}

void LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  ended_ = !bytes_.read_more(buffer_);
  if (ended_ && bytes_.is_stopped()) buffer_.clear();
}

bool LineReader::ready() const { return buffer_.find('\n', begin_) != std::string::npos; }

std::string line_error(std::string_view file, int64_t line, std::string_view reason) {
  return fmt::format("{}:{}: {}", file, line, reason);
}

std::string_view reason_alone(std::string_view what) {
  constexpr std::string_view kPlace = "input 0: ";
  return what.starts_with(kPlace) ? what.substr(kPlace.size()) : what;
}

InputFile::InputFile(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
  if (path == "-") {
    fd_ = STDIN_FILENO;
  } else {
    const EndBySignal while_it_waits;  // for a pipe's writer
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (fd_ < 0) {
    throw std::runtime_error(
        fmt::format("{}: cannot be opened: {}", name_, std::system_category().message(errno)));
  }
  struct stat status {};
  if (fstat(fd_, &status) == 0 && S_ISDIR(status.st_mode)) {
    throw std::runtime_error(fmt::format("{}: is a directory, expected a file", name_));
  }
}

InputFile::~InputFile() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

}  // namespace bert::tools
