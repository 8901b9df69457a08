// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer::encode of many inputs, and prompts.
#include "models/tokenizer_impl.h"

#include <algorithm>

#include "models/calls/guarded.h"
#include "models/calls/workers.h"
#include "tokenizer/unicode/utf8.h"

namespace bert {

std::vector<Encoding> Tokenizer::Impl::encode(std::span<const Input> inputs,
                                              const models::ForEach& for_each) const {
  if (!prompt.empty()) return encode_after(prompt, max_length, inputs, for_each);
  std::vector<models::Texts> texts;
  texts.reserve(inputs.size());
  for (const Input& input : inputs) texts.push_back({input.first, input.second});
  return models::encode_batch(text_encoder, texts, max_length, for_each);
}

std::vector<Encoding> Tokenizer::encode(std::span<const Input> inputs, int threads) const {
  return models::guarded([&] {
    const auto at_once = static_cast<size_t>(models::resolve_threads(threads));
    return impl_->encode(inputs, [&](size_t count, const auto& body) {
      models::for_each_on_threads(at_once, count, body);
    });
  });
}

std::vector<Encoding> Tokenizer::Impl::encode_after(const std::string& before, int limit,
                                                    std::span<const Input> inputs,
                                                    const models::ForEach& for_each) const {
  std::vector<std::string> firsts;
  std::vector<models::Texts> texts;
  firsts.reserve(inputs.size());
  texts.reserve(inputs.size());
  for (const Input& input : inputs) {
    texts.push_back({firsts.emplace_back(before + input.first), input.second});
  }
  std::vector<Encoding> encodings = models::encode_batch(text_encoder, texts, limit, for_each);
  for (Encoding& encoding : encodings) remove_prompt(before, encoding);
  return encodings;
}

void Tokenizer::Impl::remove_prompt(const std::string& before, Encoding& encoding) {
  const auto shift = static_cast<int32_t>(tokenizer::utf8::count_scalars(before));
  for (int32_t t = encoding.first.begin; t < encoding.first.end; ++t) {
    auto& [begin, end] = encoding.offsets[t];
    begin = std::max(0, begin - shift);
    end = std::max(0, end - shift);
  }
}
}  // namespace bert
