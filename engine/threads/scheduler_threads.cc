// SPDX-License-Identifier: Apache-2.0
//
// A Scheduler's own threads sleep until there is a batch to lead or a team to help.
#include <atomic>
#include <mutex>
#include <utility>

#include "engine/threads/scheduler_impl.h"
#include "engine/threads/wait.h"

namespace bert::engine {

void Scheduler::serve(Thread& self) {
  uint32_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;; ++free_) {
    idle_.push_back(&self);
    share_out();  // perhaps to this thread
    lock.unlock();
    wait_while(self.wakes, seen);
    lock.lock();
    if (stopped_) return;
    ++seen;
    if (Call* call = std::exchange(self.call, nullptr)) {
      lead_batch(lock, *call, self.batch);
    } else {
      help(lock, self);
    }
  }
}

void Scheduler::help(std::unique_lock<std::mutex>& lock, Thread& self) {
  const std::atomic<int>& waiting = self.small ? small_leaders_waiting_ : leaders_wanted_;
  Team::Members& team = *self.members;
  lock.unlock();
  team.help(self.worker, [&] { return waiting.load(std::memory_order_relaxed) > 0; });
  lock.lock();
  team.taken[self.worker] = false;
  team.present.fetch_sub(1, std::memory_order_release);
  self.members = nullptr;
}

}  // namespace bert::engine
