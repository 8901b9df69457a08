// SPDX-License-Identifier: Apache-2.0
#include "models/calls/encode_batch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "engine/threads/scheduler.h"

namespace bert::models {

void for_each_on_threads(size_t threads, size_t count, const std::function<void(size_t i)>& body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < count;) body(i);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(threads, count)) {
      others.push_back(engine::quiet_thread(work));
    }
  } catch (const std::exception&) {  // those that there are do it all
  }
  work();
  for (std::thread& other : others) other.join();
}

std::vector<Encoding> encode_batch(const tokenizer::TextEncoder& encoder,
                                   std::span<const Texts> inputs, int max_length,
                                   const ForEach& for_each, const Finish& finish) {
  // So few that no thread is left with most of the long ones, and that others need not wait long;
  // less text than this is encoded by the time that another thread has started.
  constexpr size_t kInputsAtATime = 64, kBytesAtATime = size_t{64} << 10;
  std::vector<size_t> ends;
  for (size_t i = 0, bytes = 0, begin = 0; i < inputs.size(); ++i) {
    bytes += inputs[i].first.size() + inputs[i].second.value_or("").size();
    if (bytes < kBytesAtATime && i + 1 - begin < kInputsAtATime && i + 1 < inputs.size()) continue;
    ends.push_back(i + 1);
    begin = i + 1;
    bytes = 0;
  }
  std::vector<Encoding> out(inputs.size());
  std::atomic<size_t> first_error = inputs.size();
  std::exception_ptr error;
  std::mutex mutex;
  for_each(ends.size(), [&](size_t part) {
    size_t i = part == 0 ? 0 : ends[part - 1];
    if (i >= first_error) return;
    try {
      for (; i < ends[part]; ++i) {
        out[i] = encoder.encode(inputs[i].first, inputs[i].second, max_length);
        if (finish) finish(out[i]);
      }
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex);
      if (i >= first_error) return;
      first_error = i;
      error = std::current_exception();
    }
  });
  if (!error) return out;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {  // not the input's fault
    throw;
  } catch (const std::exception& reason) {
    throw std::runtime_error(fmt::format("input {}: {}", first_error.load(), reason.what()));
  }
}

}  // namespace bert::models
