// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/console/counted.h"

namespace bert::tools {

// Counts answers and shows progress, at most once a second and only to a terminal: how many inputs,
// how fast, and of a file the time that is left.
class Progress {
 public:
  int64_t inputs = 0, truncated = 0, tokens = 0;
  int64_t skipped = 0;      // lines that are no inputs
  std::string first_error;  // of these
  int64_t lines() const { return inputs + skipped; }

  // Answers that go to the terminal show the progress themselves, and would end up on the same
  // line. input_fd: -1 if there is none.
  Progress(bool shows, bool answers_on_terminal, int input_fd)
      : terminal_(shows && isatty(STDERR_FILENO) != 0 && !answers_on_terminal), input_(input_fd) {}
  ~Progress() { clear(); }

  void show() {
    if (!terminal_ || Clock::now() - shown_ < std::chrono::seconds(1)) return;
    shown_ = Clock::now();
    fmt::print(stderr, "\r\x1b[K{}, {:.0f}/s, {:.0f} tokens/s{}", counted(inputs, "input"),
               per_second(inputs), tokens_per_second(), time_left());
    visible_ = true;
  }

  void clear() {
    if (visible_) fmt::print(stderr, "\r\x1b[K");
    visible_ = false;
  }

  double tokens_per_second() const { return per_second(tokens); }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  double per_second(int64_t count) const {
    return seconds() > 0 ? static_cast<double>(count) / seconds() : 0;
  }

  // ", 34 %, 1:05 left", by how much of a file has been read, compressed or not.
  std::string time_left() const {
    struct stat status {};
    if (fstat(input_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return "";
    const off_t at = lseek(input_, 0, SEEK_CUR);
    if (at <= 0 || at > status.st_size) return "";
    const double part = static_cast<double>(at) / static_cast<double>(status.st_size);
    const auto left = static_cast<int64_t>(seconds() * (1 - part) / part);
    return fmt::format(", {:.0f} %, {}:{:02} left", 100 * part, left / 60, left % 60);
  }

  const bool terminal_;
  const int input_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = started_;
  bool visible_ = false;
};

}  // namespace bert::tools
