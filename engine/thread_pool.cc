// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <algorithm>
#include <utility>

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

ThreadPool::ThreadPool(int threads) {
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
  count_ = count;
  next_ = 0;
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

void ThreadPool::work(int worker) {
  try {
    for (int64_t i = next_++; i < count_; i = next_++) (*body_)(i, worker);
  } catch (...) {
    next_ = count_;
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace bert::engine
