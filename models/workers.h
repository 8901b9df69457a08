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

// Idle workspaces, kept for the next forward pass. There are as many as passes ever ran at once.
class WorkspacePool {
 public:
  template <typename Body>
  void use(const Body& body) {
    std::unique_ptr<Workspace> space = take();
    body(*space);  // if it throws, the workspace is dropped
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

// wanted, or if it is 0 as many threads as this process may use.
inline int resolve_threads(int wanted) {
  if (wanted < 0) throw Error(fmt::format("threads is {}, expected at least 0", wanted));
  return wanted > 0 ? wanted : engine::usable_threads();
}

// The limit on threads and on workers: more than any machine has processors for.
constexpr int kMaxThreads = 1024;

// The threads of a model: one pool of all of them, and teams that each compute their own batch.
class Workers {
 public:
  explicit Workers(const Options& options) {
    const auto check = [](const char* name, int value) {
      if (value >= 0 && value <= kMaxThreads) return;
      throw Error(fmt::format("{} is {}, expected from 0 to {}", name, value, kMaxThreads));
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
          fmt::format("cannot start {} workers of {} threads: {}", count, each, error.what()));
    }
  }

  int count() const { return teams_.empty() ? 1 : static_cast<int>(teams_.size()); }
  int threads_of_each() const { return all_->threads() / count(); }
  engine::ThreadPool& all() const { return *all_; }

  // The token budget of each batch of these inputs, given the budget of all that are computed at a
  // time: at least two batches a team, unless they would be so small that reading the weights costs
  // more than using them.
  int64_t batch_budget(std::span<const Encoding> encodings, int64_t batch_tokens) const {
    int64_t tokens = 0;
    for (const Encoding& encoding : encodings) tokens += std::ssize(encoding.ids);
    constexpr int64_t kMinTokens = 256;
    if (count() == 1 || tokens < kMinTokens * count()) return batch_tokens;
    const int64_t max_tokens = std::max<int64_t>(1, batch_tokens / count());
    return std::clamp(tokens / (2 * count()), std::min(kMinTokens, max_tokens), max_tokens);
  }

  // Calls body(i, pool) for every i in [0, tasks): in parallel, each with the threads of one team,
  // if there is at least one task for each team; else one after the other with all threads.
  template <typename Body>
  void run(int64_t tasks, const Body& body) const {
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
