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

// The threads of one model. They sleep when there is nothing to do.
//
// OpenMP's spin between calls, which on a busy machine costs tens of times the work itself.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(i, worker) once for every i in [0, count), worker in [0, threads()), and returns
  // when all is done; rethrows the first exception of a body. Of several callers at once one has
  // the threads, and the others do their work alone, as worker 0. A worker gets neighbours in turn,
  // upwards, until its share is done; then it helps the others from the ends of theirs.
  using Body = std::function<void(int64_t i, int worker)>;
  void run(int64_t count, const Body& body);
  // The first of a worker's share; of threads(), count.
  int64_t first_of(int worker, int64_t count) const { return worker * count / threads(); }

 private:
  void serve(int worker);
  void work(int worker);
  int64_t take(int worker);
  void stop();

  std::mutex mutex_;                     // held by the caller that has the threads
  std::atomic<uint32_t> generation_{0};  // of jobs; changes when there is one
  std::atomic<int> busy_{0};             // workers that have not finished the current job
  std::atomic<bool> stopped_{false};
  // Of the current job. Written before generation_, read after it.
  const Body* body_ = nullptr;
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0};  // from, in the upper half, and to
  };
  std::vector<Share> shares_;  // by worker
  std::mutex error_mutex_;
  std::exception_ptr error_;
  const int process_;  // that the workers are in
  std::vector<std::thread> workers_;
};

}  // namespace bert::engine
