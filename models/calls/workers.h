// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/threads/scheduler.h"
#include "models/bert_infer.h"

namespace bert::models {

// wanted, or if it is 0 as many threads as this process may use.
int resolve_threads(int wanted);

constexpr int kMaxThreads = 1024;  // of a model: more than any machine has processors for
// A call with no more tokens than this goes before larger ones.
constexpr int64_t kSmallCall = 512;
// In a smaller batch, reading the weights costs one processor more time than using them.
constexpr int64_t kTokensOfProcessor = 256;

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
  // Whether a call of this thread goes before larger ones.
  static bool is_small(std::span<const Encoding> encodings);
  static thread_local bool yields;  // whatever this thread calls goes after small calls
  static thread_local int others;   // see Scheduler::Work
  // Whether anybody still waits for what this thread computes; null: always. Asked before each
  // batch, on whatever thread computes it.
  static thread_local const std::function<bool()>* wanted;

  // The token budget of each batch of these inputs, given the budget of all that are computed at a
  // time: at least two batches a team, unless they would be so small that reading the weights costs
  // more than using them.
  int64_t batch_budget(std::span<const Encoding> encodings, int64_t batch_tokens) const {
    const int64_t tokens = count_tokens(encodings);
    if (count() == 1 || tokens < kTokensOfProcessor * count()) return batch_tokens;
    const int64_t max_tokens = std::max<int64_t>(1, batch_tokens / count());
    return std::clamp(tokens / (2 * count()), std::min(kTokensOfProcessor, max_tokens), max_tokens);
  }

  // Calls body(i) for every i in [0, count), on as many threads as have time.
  void for_each(size_t count, const std::function<void(size_t i)>& body) const;

 private:
  int count_;
  std::unique_ptr<engine::Scheduler> scheduler_;
};

}  // namespace bert::models
