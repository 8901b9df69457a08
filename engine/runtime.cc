// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace bert::engine {
namespace {

int affinity_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// CPUs' worth of time that one cgroup directory allows, or infinity. Version 2 has one file, "max
// 100000" or "150000 100000"; version 1 has two.
double cgroup_limit(const std::string& directory) {
  double quota = 0, period = 0;
  if (std::ifstream(directory + "/cpu.max") >> quota >> period && period > 0) return quota / period;
  if (std::ifstream(directory + "/cpu.cfs_quota_us") >> quota && quota > 0 &&
      std::ifstream(directory + "/cpu.cfs_period_us") >> period && period > 0) {
    return quota / period;
  }
  return INFINITY;
}

// The tightest quota from this process's cgroup up to the root. In a container the process's own
// path may not be visible; the root of what is mounted is then its cgroup.
double quota_threads() {
  double limit = INFINITY;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "hierarchy:controllers:path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      limit = std::min(limit, cgroup_limit(root + path));
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  return limit;
}

}  // namespace

int usable_threads() {
  return std::max(
      1, static_cast<int>(std::min<double>(affinity_threads(), std::ceil(quota_threads()))));
}

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("bert_infer",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* level = std::getenv("BERT_INFER_LOG");
    made->set_level(level ? spdlog::level::from_str(level) : spdlog::level::off);
    return made;
  }();
  return *logger;
}

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer does not see libgomp's synchronisation and would report every join as a
// race. Under it the same work runs on std::thread, which it does see, so that a race in a body is
// found.
void parallel_for(int threads, int64_t count, const std::function<void(int64_t, int)>& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&](int worker) {
    for (int64_t i = next++; i < count; i = next++) body(i, worker);
  };
  std::vector<std::thread> pool;
  for (int worker = 1; worker < std::min<int64_t>(threads, count); ++worker) {
    pool.emplace_back(work, worker);
  }
  work(0);
  for (std::thread& thread : pool) thread.join();
}
#else
void parallel_for(int threads, int64_t count, const std::function<void(int64_t, int)>& body) {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < count; ++i) body(i, omp_get_thread_num());
}
#endif

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

}  // namespace bert::engine
