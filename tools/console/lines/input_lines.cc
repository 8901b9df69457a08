// SPDX-License-Identifier: Apache-2.0
#include "tools/console/lines/input_lines.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bert::tools {

LongLine::LongLine()
    : runtime_error(fmt::format("the line is longer than {} bytes", kMaxLineBytes)) {}

std::optional<std::string_view> LineReader::next() {
  size_t scanned = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', scanned);
    has_end_ = end != std::string::npos;
    const size_t length = (has_end_ ? end : buffer_.size()) - begin_;
    if (drops_) {
      begin_ += length + (has_end_ ? 1 : 0);
      drops_ = !has_end_;
      scanned = begin_;
      if (has_end_) continue;
    } else if (length > kMaxLineBytes) {
      ++number_;
      drops_ = true;
      throw LongLine();
    } else if (has_end_ || (ended_ && length > 0)) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, length);
      begin_ += length + (has_end_ ? 1 : 0);
      ++number_;
      return line;
    }
    if (ended_) return std::nullopt;
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned = buffer_.size();
    ended_ = !bytes_.read_more(buffer_);
    if (ended_ && bytes_.is_stopped()) buffer_.clear();
  }
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
  fd_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
