// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <fmt/format.h>
#include <unistd.h>

namespace bert::tools {

// Counts answers and shows progress, at most once a second and only to a terminal.
class Progress {
 public:
  int64_t inputs = 0, truncated = 0, tokens = 0;

  // Answers that go to the terminal show the progress themselves, and would end up on the same
  // line.
  explicit Progress(bool answers_on_terminal)
      : terminal_(isatty(STDERR_FILENO) != 0 && !answers_on_terminal) {}
  ~Progress() { clear(); }

  void show() {
    if (!terminal_ || Clock::now() - shown_ < std::chrono::seconds(1)) return;
    shown_ = Clock::now();
    fmt::print(stderr, "\r\x1b[K{} inputs, {:.0f} tokens/s", inputs, tokens_per_second());
    visible_ = true;
  }

  void clear() {
    if (visible_) fmt::print(stderr, "\r\x1b[K");
    visible_ = false;
  }

  double tokens_per_second() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = started_;
  bool visible_ = false;
};

}  // namespace bert::tools
