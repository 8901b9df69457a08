// SPDX-License-Identifier: Apache-2.0
#include "tools/console/progress_bar.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace bert::tools {

ProgressBar::ProgressBar(std::string work, double total, std::string unit)
    : work_(std::move(work)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::add(double done) {
  done_ += done;
  const auto now = Clock::now();
  if (!terminal_ || now - shown_ < std::chrono::milliseconds(visible_ ? 100 : 500)) return;
  shown_ = now;
  visible_ = true;
  show();
}

void ProgressBar::clear() {
  if (visible_) fmt::print(stderr, "\r\x1b[K");
  visible_ = false;
}

void ProgressBar::show() const {
  constexpr int kWidth = 24;
  const double part = total_ > 0 ? std::clamp(done_ / total_, 0.0, 1.0) : 1;
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const double rate = done_ / seconds;
  const auto left = static_cast<int64_t>(part > 0 ? seconds * (1 - part) / part : 0);
  fmt::print(stderr, "\r\x1b[K{} [{:<{}}] {:.0f} %, {:.{}f} {}/s, {}:{:02} left", work_,
             std::string(static_cast<size_t>(part * kWidth), '#'), kWidth, 100 * part, rate,
             rate < 10 ? 1 : 0, unit_, left / 60, left % 60);
}

std::function<void(int loaded, int layers)> loading_bar() {
  return [bar = std::shared_ptr<ProgressBar>()](int loaded, int layers) mutable {
    if (!bar) bar = std::make_shared<ProgressBar>("loading", layers, "layers");
    bar->add(1);
    if (loaded == layers) bar.reset();
  };
}

}  // namespace bert::tools
