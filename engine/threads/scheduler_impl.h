// SPDX-License-Identifier: Apache-2.0
//
// What a Scheduler keeps track of: callers that wait, calls, and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/threads/scheduler.h"

namespace bert::engine {

using Clock = std::chrono::steady_clock;

template <typename List>
void remove_from(List& list, const typename List::value_type& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) list.erase(found);
}

// A thread that waits for a processor or, if it has a call, until other threads have computed that.
struct Scheduler::Waiter {
  const Call* call = nullptr;
  bool has_processor = false;
  Clock::time_point stays_until = {};  // like Team's
  std::condition_variable changed = {};

  void wait(std::unique_lock<std::mutex>& lock);
};

struct Scheduler::Call {
  Work work;
  const LeadBatch& lead;
  int64_t next = 0;  // batch
  int leaders = 0;
  std::exception_ptr error = nullptr;
  Waiter caller = {};

  bool has_batches() const { return next < work.batches; }
  bool wants_leader() const { return has_batches() && leaders < work.at_once; }
  bool is_over() const { return !has_batches() && leaders == 0; }
  int64_t begin_batch() {
    ++leaders;
    return next++;
  }
  void fail(std::exception_ptr what) {
    if (!error) error = std::move(what);
    next = work.batches;
  }
};

struct Scheduler::Thread {
  std::atomic<uint32_t> wakes{0};
  // Its task: to lead this batch of a call, or to help a team.
  Call* call = nullptr;
  int64_t batch = 0;
  std::shared_ptr<Team::Members> members = nullptr;
  int worker = 0;
  bool small = false;
  std::thread thread = {};

  void wake() {
    wakes.fetch_add(1, std::memory_order_release);
    wakes.notify_one();
  }
};

inline Scheduler::Thread& Scheduler::take_idle() {
  Thread& thread = *idle_.back();
  idle_.pop_back();
  return thread;
}

}  // namespace bert::engine
