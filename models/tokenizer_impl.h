// SPDX-License-Identifier: Apache-2.0
//
// What the public API's Tokenizer holds.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode/utf8.h"

namespace bert {

namespace models {

// Both throw Error.
void require_directory(const std::string& directory);
void check_max_length(int length);

}  // namespace models

struct __attribute__((visibility("hidden"))) Tokenizer::Impl {
  tokenizer::Tokenizer tokenizer;
  int max_length;
  std::string prompt;  // stands before each first text

  // The prompt is no part of the first text: its tokens have empty offsets.
  Encoding converted(tokenizer::Encoding made) const {
    Encoding encoding{std::move(made.ids), std::move(made.type_ids), {}, made.truncated};
    const auto before = static_cast<int32_t>(tokenizer::utf8::count_scalars(prompt));
    encoding.offsets.reserve(made.offsets.size());
    for (int32_t i = 0; i < std::ssize(made.offsets); ++i) {
      const bool is_first = made.first.begin <= i && i < made.first.end;
      const auto [begin, end] = made.offsets[i];
      const int32_t shift = is_first ? before : 0;
      encoding.offsets.push_back({std::max(0, begin - shift), std::max(0, end - shift)});
    }
    return encoding;
  }
  std::vector<Encoding> converted(std::vector<tokenizer::Encoding> made) const {
    std::vector<Encoding> encodings;
    encodings.reserve(made.size());
    for (auto& one : made) encodings.push_back(converted(std::move(one)));
    return encodings;
  }

  // With the ranges of the texts' tokens.
  std::vector<tokenizer::Encoding> encode_ranges(std::span<const Input> inputs, int threads) const {
    std::vector<tokenizer::Texts> texts;
    std::vector<std::string> prompted;  // not read where there is no prompt
    texts.reserve(inputs.size());
    prompted.reserve(inputs.size());
    for (const Input& input : inputs) {
      if (!prompt.empty()) prompted.push_back(prompt + input.first);
      texts.push_back({prompt.empty() ? input.first : prompted.back(), input.second});
    }
    return tokenizer.encode_batch(texts, max_length, threads);
  }

  std::vector<Encoding> encode(std::span<const Input> inputs, int threads) const {
    return converted(encode_ranges(inputs, threads));
  }
};

}  // namespace bert
