// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace spdlog {
class logger;
}

namespace bert::engine {

// Threads that this process may really use: its affinity mask, cut by its cgroups' CPU quota.
int usable_threads();

// The library's diagnostics. Silent unless the environment's BERT_INFER_LOG names
// a level: debug tells what oneDNN dispatched, warn what it should not have.
spdlog::logger& log();

// Calls body(i, worker) for every i in [0, count), on up to `threads` threads; worker is in
// [0, threads). The body must not throw: an exception must not leave a parallel region.
void parallel_for(int threads, int64_t count,
                  const std::function<void(int64_t i, int worker)>& body);

// The number of threads that oneDNN takes on the calling thread, for as long as this lives.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace bert::engine
