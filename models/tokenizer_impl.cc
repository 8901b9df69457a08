// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer::encode of many inputs, prompts and chat templates.
#include "models/tokenizer_impl.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "models/calls/guarded.h"
#include "models/calls/workers.h"
#include "tokenizer/unicode/utf8.h"

namespace bert {

Encoding Tokenizer::Impl::encode_chat(const Input& input) const {
  const models::ChatPairs::Rendered rendered = chat->render(input);
  Encoding encoding = text_encoder.encode(rendered.text, std::nullopt, chat->limit(max_length));
  chat->finish(rendered, max_length, encoding);
  return encoding;
}

std::vector<std::string> Tokenizer::strings(const Input& input) const {
  return models::guarded([&] {
    const auto& [text_encoder, max_length, prompt, chat, is_models] = *impl_;
    if (!impl_->is_for_chat(input))
      return text_encoder.strings(prompt + input.first, input.second, max_length);
    std::vector<std::string> strings =
        text_encoder.strings(chat->render(input).text, std::nullopt, chat->limit(max_length));
    chat->finish(impl_->encode_chat(input), strings, text_encoder);
    return strings;
  });
}

std::vector<Encoding> Tokenizer::Impl::encode(std::span<const Input> inputs,
                                              const models::ForEach& for_each) const {
  if (chat) return encode_chat(inputs, for_each);
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

std::vector<Encoding> Tokenizer::Impl::encode_chat(std::span<const Input> inputs,
                                                   const models::ForEach& for_each) const {
  using Rendered = models::ChatPairs::Rendered;
  std::vector<std::optional<Rendered>> rendered(inputs.size());  // of pairs
  std::vector<models::Texts> texts;
  texts.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_for_chat(inputs[i])) {
      texts.push_back({inputs[i].first});
      continue;
    }
    try {
      texts.push_back({rendered[i].emplace(chat->render(inputs[i])).text});
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("input {}: {}", i, error.what()));
    }
  }
  const int limit = chat->limit(max_length);
  std::vector<Encoding> encodings = models::encode_batch(text_encoder, texts, limit, for_each);
  for (size_t i = 0; i < encodings.size(); ++i) {
    if (rendered[i]) {
      chat->finish(*rendered[i], max_length, encodings[i]);
    } else if (limit != max_length) {
      encodings[i] = text_encoder.encode(inputs[i].first, std::nullopt, max_length);
    }
  }
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
