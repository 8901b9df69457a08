// SPDX-License-Identifier: Apache-2.0
#include "models/tokenizer_impl.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include "models/calls/workers.h"
#include "models/model_impl.h"

namespace bert {

namespace {

using models::guarded;

// Threads of its own, as a tokenizer without a model has none. Those that can be started do all of
// the work.
void for_each_on_threads(size_t threads, size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < count;) body(i);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(threads, count)) {
      others.push_back(engine::quiet_thread(work));
    }
  } catch (const std::system_error&) {
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace

std::vector<Encoding> Tokenizer::Impl::encode(std::span<const Input> inputs,
                                              const tokenizer::ForEach& for_each) const {
  if (!prompt.empty()) return encode_prompted(inputs, for_each);
  std::vector<tokenizer::Texts> texts;
  texts.reserve(inputs.size());
  for (const Input& input : inputs) texts.push_back({input.first, input.second});
  return text_encoder.encode_batch(texts, max_length, for_each);
}

std::vector<Encoding> Tokenizer::encode(std::span<const Input> inputs, int threads) const {
  return guarded([&] {
    const auto at_once = static_cast<size_t>(models::resolve_threads(threads));
    return impl_->encode(
        inputs, [&](size_t count, const auto& body) { for_each_on_threads(at_once, count, body); });
  });
}

}  // namespace bert
