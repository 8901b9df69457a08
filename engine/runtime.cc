// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace bert::engine {
namespace {

int affinity_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The CPU quota of one cgroup directory, in CPUs, or infinity. Version 2 has a single file with
// "max 100000" or "150000 100000"; version 1 has two files.
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
// path may not be visible; its cgroup is then the mounted root.
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

int64_t second_level_cache() {
  static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 1 << 20;
}

spdlog::logger& log() {
  static spdlog::logger& logger = []() -> spdlog::logger& {
    auto* made =
        new spdlog::logger("bert_infer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    const char* level = std::getenv("BERT_INFER_LOG");
    made->set_level(level ? spdlog::level::from_str(level) : spdlog::level::off);
    return *made;
  }();
  return logger;
}

}  // namespace bert::engine
