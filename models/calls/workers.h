// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/threads/scheduler.h"
#include "models/bert_infer.h"
#include "models/network/bert.h"

namespace bert::models {

// Idle workspaces, kept for the next forward pass, of which there are as many as passes ever ran at
// once. Very large ones, such as those with the attention of long inputs, are not kept. The mutex
// is only tried: in a child process, a thread that was not forked may hold it for ever.
class WorkspacePool {
 public:
  template <typename Body>
  void use(const Body& body) {
    std::unique_ptr<Workspace> space = take();
    body(*space);  // if it throws, the workspace is dropped
    if (space->bytes() > kMostKept) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) idle_.push_back(std::move(space));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  static constexpr int64_t kMostKept = int64_t{256} << 20;  // bytes

  std::unique_ptr<Workspace> take() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> space = std::move(idle_.back());
    idle_.pop_back();
    return space;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

// wanted, or if it is 0 as many threads as this process may use.
int resolve_threads(int wanted);

// A call with no more tokens than this goes before larger ones.
constexpr int64_t kSmallCall = 512;

inline int64_t count_tokens(std::span<const Encoding> encodings) {
  int64_t tokens = 0;
  for (const Encoding& encoding : encodings) tokens += std::ssize(encoding.ids);
  return tokens;
}

// How many batches a model computes at a time, on how many threads, and the threads.
class Workers {
 public:
  // Throws Error for numbers out of range, and where the threads cannot be started.
  explicit Workers(const Options& options);

  int count() const { return count_; }
  int threads_of_each() const { return threads() / count_; }
  int threads() const { return scheduler_->threads(); }
  engine::Scheduler& scheduler() const { return *scheduler_; }
  static bool is_small(std::span<const Encoding> encodings) {
    return count_tokens(encodings) <= kSmallCall;
  }

  // The token budget of each batch of these inputs, given the budget of all that are computed at a
  // time: at least two batches a team, unless they would be so small that reading the weights costs
  // more than using them.
  int64_t batch_budget(std::span<const Encoding> encodings, int64_t batch_tokens) const {
    const int64_t tokens = count_tokens(encodings);
    constexpr int64_t kMinTokens = 256;
    if (count() == 1 || tokens < kMinTokens * count()) return batch_tokens;
    const int64_t max_tokens = std::max<int64_t>(1, batch_tokens / count());
    return std::clamp(tokens / (2 * count()), std::min(kMinTokens, max_tokens), max_tokens);
  }

  // Calls body(i) for every i in [0, count), on as many threads as have time.
  void for_each(size_t count, const std::function<void(size_t i)>& body) const;

 private:
  int count_;
  std::unique_ptr<engine::Scheduler> scheduler_;
};

}  // namespace bert::models
