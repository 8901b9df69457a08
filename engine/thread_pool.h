// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bert::engine {

// The threads of one model. They sleep when there is nothing to do, unlike OpenMP's, which spin
// between calls: on a busy machine that costs tens of times the work itself.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i, worker) once for every i in [0, count), with worker in [0, threads()), and
  // returns when all are done; rethrows the first exception of a body. Of several simultaneous
  // callers one gets the threads, and the others do their work alone, as worker 0. Each worker
  // takes the i of its own contiguous share in ascending order, then helps the others from the ends
  // of theirs.
  using Body = std::function<void(int64_t i, int worker)>;
  void run(int64_t count, const Body& body);
  // The first i of a worker's share; for worker threads(), count.
  int64_t first_of(int worker, int64_t count) const { return worker * count / threads(); }

 private:
  void serve(int worker);
  void work(int worker);
  int64_t take(int worker);
  void stop();

  std::mutex mutex_;                     // held by the caller that has the threads
  std::atomic<uint32_t> generation_{0};  // the number of jobs so far
  std::atomic<int> busy_{0};             // workers that have not finished the current job
  std::atomic<bool> stopped_{false};
  // The current job. Written before generation_, read after it.
  const Body* body_ = nullptr;
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0};  // [begin, end): begin in the upper half, end in the lower
  };
  std::vector<Share> shares_;  // by worker
  std::mutex error_mutex_;
  std::exception_ptr error_;
  const int process_;  // in which the workers run
  std::vector<std::thread> workers_;
};

}  // namespace bert::engine
