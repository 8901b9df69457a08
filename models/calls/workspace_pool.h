// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "models/bert_infer.h"
#include "models/network/bert.h"

namespace bert::models {

// The most bytes of idle workspaces to keep. Throws Error if the option is out of range.
int64_t most_kept(const Options& options, int workers);

// Idle workspaces, kept for the next forward pass: as many as passes ever ran at once, as long as
// they have at most `most_kept` bytes together. A pass only tries the mutex: in a child process, a
// thread that was not forked may hold it for ever.
class WorkspacePool {
 public:
  explicit WorkspacePool(int64_t most_kept) : most_kept_(most_kept) {}

  template <typename Body>
  void use(const Body& body) {
    std::unique_ptr<Workspace> space = take();
    body(*space);  // if it throws, the workspace is dropped
    const int64_t bytes = space->bytes();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || bytes > most_kept_ - kept_) return;
    idle_.push_back(std::move(space));
    kept_ += bytes;
  }
  int64_t kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
    kept_ = 0;
  }

 private:
  std::unique_ptr<Workspace> take() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || idle_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> space = std::move(idle_.back());
    idle_.pop_back();
    kept_ -= space->bytes();
    return space;
  }

  const int64_t most_kept_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
  int64_t kept_ = 0;  // bytes
};

}  // namespace bert::models
