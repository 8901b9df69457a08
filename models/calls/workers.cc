// SPDX-License-Identifier: Apache-2.0
#include "models/calls/workers.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "models/calls/workspace_pool.h"

namespace bert::models {
int64_t most_kept(const Options& options, int workers) {
  constexpr int64_t kOfEachWorker = int64_t{256} << 20;
  if (options.kept_memory >= 0) return options.kept_memory;
  if (options.kept_memory == -1) return workers * kOfEachWorker;
  throw Error(fmt::format("kept_memory is {}, expected at least 0, or -1", options.kept_memory));
}

int resolve_threads(int wanted) {
  if (wanted < 0) throw Error(fmt::format("threads is {}, expected at least 0", wanted));
  return wanted > 0 ? wanted : engine::usable_threads();
}

thread_local bool Workers::yields = false;
thread_local int Workers::others = 0;
thread_local const std::function<bool()>* Workers::wanted = nullptr;

bool Workers::is_small(std::span<const Encoding> encodings) {
  return !yields && count_tokens(encodings) <= kSmallCall;
}

Workers::Workers(const Options& options) {
  const auto check = [](const char* name, int64_t value) {
    if (value >= 0 && value <= kMaxThreads) return;
    throw Error(fmt::format("{} is {}, expected from 0 to {}", name, value, kMaxThreads));
  };
  check("workers", options.workers);
  check("threads", options.threads);
  check("workers times threads", int64_t{options.workers} * options.threads);
  const int usable = engine::usable_threads();
  count_ = options.workers > 0 ? options.workers : options.threads > 0 ? 1 : usable;
  const int each = options.threads > 0 ? options.threads : std::max(1, usable / count_);
  try {
    scheduler_ = std::make_unique<engine::Scheduler>(count_ * each);
  } catch (const std::system_error& error) {
    throw Error(
        fmt::format("cannot start {} workers of {} threads: {}", count_, each, error.what()));
  }
}

void Workers::for_each(size_t count, const std::function<void(size_t i)>& body) const {
  scheduler_->run(
      {.batches = static_cast<int64_t>(count), .at_once = threads(), .small = count == 1},
      [&](int64_t i, engine::Team&) { body(static_cast<size_t>(i)); });
}

}  // namespace bert::models
