// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <unistd.h>

namespace bert::engine {
namespace {

// The steps of a forward pass follow each other within microseconds, and waking a sleeping thread
// takes about ten: so threads spin for about that long before they sleep.
constexpr int kSpins = 2000;

template <typename T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
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
  } catch (...) {  // the system has no more threads: stop those that already run
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  // A forked child has none of the threads, and both joining and destroying them would crash: leak.
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
  const auto begin = [&](int i) { return static_cast<uint64_t>(first_of(i, count)); };
  for (int i = 0; i < threads(); ++i) shares_[i].left = begin(i) << 32 | begin(i + 1);
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
    ++seen;  // by one: no job begins before all workers have finished the one before
    work(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
  }
}

// Takes the next i of the worker's own share, or the last of another's; -1 if nothing is left.
int64_t ThreadPool::take(int worker) {
  for (int other = 0; other < threads(); ++other) {
    std::atomic<uint64_t>& left = shares_[(worker + other) % threads()].left;
    for (uint64_t current = left;;) {
      const uint64_t begin = current >> 32, end = current & UINT32_MAX;
      if (begin >= end) break;
      const uint64_t rest = other == 0 ? (begin + 1) << 32 | end : begin << 32 | (end - 1);
      if (left.compare_exchange_weak(current, rest)) {
        return static_cast<int64_t>(other == 0 ? begin : end - 1);
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
