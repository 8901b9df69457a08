// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace bert::engine {

// Returns when the value is no longer `old`. The steps of a forward pass follow each other within
// microseconds, and waking a sleeping thread takes about ten, so this spins about that long before
// it sleeps.
template <typename T>
void wait_while(const std::atomic<T>& value, T old) {
  constexpr int kSpins = 2000;
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace bert::engine
