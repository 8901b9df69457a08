// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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

}  // namespace bert::models
