// SPDX-License-Identifier: Apache-2.0
#include "models/tokenizer_impl.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include "models/model_impl.h"
#include "models/workers.h"
#include "tokenizer/unicode/utf8.h"

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
  std::vector<tokenizer::Texts> texts;
  std::vector<std::string> prompted;  // empty without a prompt
  texts.reserve(inputs.size());
  prompted.reserve(inputs.size());
  for (const Input& input : inputs) {
    if (!prompt.empty()) prompted.push_back(prompt + input.first);
    texts.push_back({prompt.empty() ? input.first : prompted.back(), input.second});
  }
  std::vector<Encoding> encodings = text_encoder.encode_batch(texts, max_length, for_each);
  for (Encoding& encoding : encodings) remove_prompt(encoding);
  return encodings;
}

void Tokenizer::Impl::remove_prompt(Encoding& encoding) const {
  if (prompt.empty()) return;
  const auto shift = static_cast<int32_t>(tokenizer::utf8::count_scalars(prompt));
  for (int32_t t = encoding.first.begin; t < encoding.first.end; ++t) {
    auto& [begin, end] = encoding.offsets[t];
    begin = std::max(0, begin - shift);
    end = std::max(0, end - shift);
  }
}

Tokenizer Tokenizer::load(const std::string& directory, int max_length) {
  return guarded([&] {
    models::check_max_length(max_length);
    models::require_directory(directory);
    auto loaded = tokenizer::TextEncoder::load(directory);
    const int limit = max_length > 0 ? max_length : loaded.default_max_length();
    return Tokenizer(std::make_shared<const Impl>(
        Impl{.text_encoder = std::move(loaded), .max_length = limit, .prompt = ""}));
  });
}

Encoding Tokenizer::encode(const Input& input) const {
  return guarded([&] {
    Encoding encoding =
        impl_->text_encoder.encode(impl_->prompt + input.first, input.second, impl_->max_length);
    impl_->remove_prompt(encoding);
    return encoding;
  });
}

std::vector<Encoding> Tokenizer::encode(std::span<const Input> inputs, int threads) const {
  return guarded([&] {
    const auto at_once = static_cast<size_t>(models::resolve_threads(threads));
    return impl_->encode(
        inputs, [&](size_t count, const auto& body) { for_each_on_threads(at_once, count, body); });
  });
}

const std::string& Tokenizer::token(int32_t id) const {
  return guarded([&]() -> const std::string& { return impl_->text_encoder.token(id); });
}

bool Tokenizer::continues_word(int32_t id) const {
  return guarded([&] { return impl_->text_encoder.continues_word(id); });
}

int32_t Tokenizer::mask_id() const { return impl_->text_encoder.mask_id(); }

const std::vector<std::string>& Tokenizer::notes() const { return impl_->text_encoder.notes(); }

}  // namespace bert
