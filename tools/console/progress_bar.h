// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace bert::tools {

// How far a piece of work is, on standard error if that is a terminal, and on nothing else: a bar,
// the rate and the time that is left. Work of less than half a second shows nothing.
class ProgressBar {
 public:
  // work: "converting"; unit: of `total` and add(), such as "MB".
  ProgressBar(std::string work, double total, std::string unit);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void add(double done);
  void clear();  // until the next add()

 private:
  using Clock = std::chrono::steady_clock;
  void show() const;

  const std::string work_, unit_;
  const double total_;
  const bool terminal_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = started_;
  double done_ = 0;
  bool visible_ = false;
};

// For bert::Options::progress: a bar for each model that is loaded.
std::function<void(int loaded, int layers)> loading_bar();

}  // namespace bert::tools
