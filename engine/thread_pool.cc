// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <unistd.h>

namespace bert::engine {
namespace {

// Steps of a forward pass follow each other within microseconds, and waking a sleeper takes some
// ten: so look for that long before sleeping.
constexpr int kLooks = 2000;

template <typename T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kLooks; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : shares_(std::max(1, threads)), process_(getpid()) {
  try {
    for (int worker = 1; worker < threads; ++worker) {
      workers_.emplace_back([this, worker] { serve(worker); });
    }
  } catch (...) {  // the system has no more threads: those that run must not be left behind
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  // A fork has none of the threads: to join one would crash, and to let go of it too.
  if (getpid() != process_) {
    new std::vector<std::thread>(std::move(workers_));
    return;
  }
  stopped_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t count, const Body& body) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (workers_.empty() || count <= 1 || !lock.try_lock()) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  body_ = &body;
  assert(count <= UINT32_MAX);
  const auto from = [&](int i) { return static_cast<uint64_t>(first_of(i, count)); };
  for (int i = 0; i < threads(); ++i) shares_[i].left = from(i) << 32 | from(i + 1);
  busy_ = static_cast<int>(workers_.size());
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  work(0);
  for (int busy = busy_; busy > 0; busy = busy_) wait_while(busy_, busy);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::serve(int worker) {
  for (uint32_t seen = 0;;) {
    wait_while(generation_, seen);
    if (stopped_) return;
    ++seen;  // one at a time: a job does not begin before all have finished the last
    work(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
  }
}

// The next i of a worker's own share, or the last of another's; -1 when nothing is left.
int64_t ThreadPool::take(int worker) {
  for (int other = 0; other < threads(); ++other) {
    std::atomic<uint64_t>& left = shares_[(worker + other) % threads()].left;
    for (uint64_t was = left;;) {
      const uint64_t from = was >> 32, to = was & UINT32_MAX;
      if (from >= to) break;
      const uint64_t then = other == 0 ? (from + 1) << 32 | to : from << 32 | (to - 1);
      if (left.compare_exchange_weak(was, then)) {
        return static_cast<int64_t>(other == 0 ? from : to - 1);
      }
    }
  }
  return -1;
}

void ThreadPool::work(int worker) {
  try {
    for (int64_t i = take(worker); i >= 0; i = take(worker)) (*body_)(i, worker);
  } catch (...) {
    for (Share& share : shares_) share.left = 0;
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace bert::engine
