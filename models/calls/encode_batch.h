// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/text_encoder.h"

namespace bert::models {

// A text, or a pair of texts, in UTF-8.
struct Texts {
  std::string_view first;
  std::optional<std::string_view> second = std::nullopt;
};

// Calls body(i) for every i in [0, count), in any order and on any threads, and returns when all
// have returned.
using ForEach = std::function<void(size_t count, const std::function<void(size_t i)>& body)>;
// Does so on `threads` threads, this one included, or on as many as can be started.
void for_each_on_threads(size_t threads, size_t count, const std::function<void(size_t i)>& body);

// Encodes all inputs, in order, a few at a time by for_each, and calls finish with each, before the
// next one is encoded on the same thread. If any fail, throws the error of the first that does, as
// "input i: ...".
using Finish = std::function<void(Encoding& encoding)>;
std::vector<Encoding> encode_batch(const tokenizer::TextEncoder& encoder,
                                   std::span<const Texts> inputs, int max_length,
                                   const ForEach& for_each, const Finish& finish = {});

}  // namespace bert::models
