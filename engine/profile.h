// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>

namespace bert::engine {

// Where the time of a forward pass goes. linear includes what is fused into the products; convert
// is the conversion of their inputs to bf16 or int8.
enum class Step { linear, convert, attention, norm, embedding };
constexpr std::array<const char*, 5> kStepNames = {"linear", "convert", "attention", "norm",
                                                   "embedding"};
using Profile = std::array<double, kStepNames.size()>;  // seconds

// Where this thread's calls into the engine add their times, if not null.
inline thread_local Profile* profile = nullptr;

// Adds its own lifetime to the profile.
class Timed {
 public:
  explicit Timed(Step step) : step_(step) {
    if (profile) begin_ = Clock::now();
  }
  ~Timed() {
    if (!profile) return;
    (*profile)[static_cast<size_t>(step_)] +=
        std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Step step_;
  Clock::time_point begin_;
};

}  // namespace bert::engine
