// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/extraction/windows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace bert::models {

void Windows::add(const Encoding& whole, TokenRange text, int64_t max_length, int64_t stride) {
  const int64_t size = text.end - text.begin;
  const int64_t around = std::ssize(whole.ids) - size;
  const int64_t room = max_length - around;
  if (room < std::min<int64_t>(size, 1)) {
    throw Error(
        fmt::format("inputs have at most {} tokens, expected room for {} special tokens and text",
                    max_length, around));
  }
  const int64_t step = std::max<int64_t>(1, room - std::min(stride, room / 2));
  for (int64_t start = 0;; start += step) {
    const int64_t end = std::min(start + room, size);
    Encoding window;
    const auto append = [&](int64_t from, int64_t to) {
      window.ids.insert(window.ids.end(), whole.ids.begin() + from, whole.ids.begin() + to);
      window.type_ids.insert(window.type_ids.end(), whole.type_ids.begin() + from,
                             whole.type_ids.begin() + to);
    };
    append(0, text.begin);
    append(text.begin + start, text.begin + end);
    append(text.end, std::ssize(whole.ids));
    encodings.push_back(std::move(window));
    starts.push_back(start);
    if (end == size) break;
  }
  inputs.push_back(encodings.size());
}

std::vector<Encoding> encode_whole(const tokenizer::TextEncoder& text_encoder,
                                   std::span<const Input> inputs, const ForEach& for_each) {
  std::vector<Texts> texts;
  for (const Input& input : inputs) texts.push_back({input.first, input.second});
  return encode_batch(text_encoder, texts, 0, for_each);
}

}  // namespace bert::models
