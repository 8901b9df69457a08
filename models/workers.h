// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "engine/thread_pool.h"
#include "models/bert_infer.h"
#include "models/network/bert.h"

namespace bert::models {

// Workspaces that wait for their next forward pass: as many as there were passes at the same time.
class WorkspacePool {
 public:
  template <typename Body>
  void use(const Body& body) {
    std::unique_ptr<Workspace> space = take();
    body(*space);  // should it throw, the workspace goes with it
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(space));
  }

 private:
  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> space = std::move(idle_.back());
    idle_.pop_back();
    return space;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

// 0: as many as this process may use.
inline int resolve_threads(int wanted) {
  if (wanted < 0) throw Error(fmt::format("threads is {}, expected at least 0", wanted));
  return wanted > 0 ? wanted : engine::usable_threads();
}

// Or workers; more than any machine has processors for.
constexpr int kMostThreads = 1024;

// The threads of a model: all together, or in teams that each compute a batch of their own.
class Workers {
 public:
  explicit Workers(const Options& options) {
    const auto check = [](const char* name, int value) {
      if (value >= 0 && value <= kMostThreads) return;
      throw Error(fmt::format("{} is {}, expected from 0 to {}", name, value, kMostThreads));
    };
    check("workers", options.workers);
    check("threads", options.threads);
    const int usable = engine::usable_threads();
    const int count = options.workers > 0 ? options.workers : options.threads > 0 ? 1 : usable;
    const int each = options.threads > 0 ? options.threads : std::max(1, usable / count);
    try {
      all_ = std::make_unique<engine::ThreadPool>(count * each);
      if (count == 1) return;
      leaders_ = std::make_unique<engine::ThreadPool>(count);
      for (int i = 0; i < count; ++i) teams_.push_back(std::make_unique<engine::ThreadPool>(each));
    } catch (const std::system_error& error) {
      throw Error(
          fmt::format("{} workers of {} threads cannot be started: {}", count, each, error.what()));
    }
  }

  int count() const { return teams_.empty() ? 1 : static_cast<int>(teams_.size()); }
  int threads_of_each() const { return all_->threads() / count(); }
  engine::ThreadPool& all() { return *all_; }

  // The most tokens of a batch of these inputs: at least two batches a team, unless they would
  // be so small that their weights are read more than they are used.
  int64_t share(std::span<const Encoding> encodings, int64_t most) const {
    int64_t tokens = 0;
    for (const Encoding& encoding : encodings) tokens += std::ssize(encoding.ids);
    constexpr int64_t kLeast = 256;
    if (count() == 1 || tokens < kLeast * count()) return most;
    const int64_t greatest = std::max<int64_t>(1, most / count());
    return std::clamp(tokens / (2 * count()), std::min(kLeast, greatest), greatest);
  }

  // Calls body(i, pool) for every i in [0, tasks): at the same time, each with a team's threads, if
  // there is one for each team at least; else one after the other with all threads.
  template <typename Body>
  void run(int64_t tasks, const Body& body) {
    if (count() == 1 || tasks < count()) {
      for (int64_t i = 0; i < tasks; ++i) body(i, *all_);
    } else {
      leaders_->run(tasks, [&](int64_t i, int worker) { body(i, *teams_[worker]); });
    }
  }

 private:
  std::unique_ptr<engine::ThreadPool> all_, leaders_;
  std::vector<std::unique_ptr<engine::ThreadPool>> teams_;
};

}  // namespace bert::models
