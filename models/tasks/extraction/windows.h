// SPDX-License-Identifier: Apache-2.0
//
// Reads texts that are longer than the model's inputs in windows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/bert_infer.h"
#include "models/calls/encode_batch.h"
#include "tokenizer/text_encoder.h"

namespace bert::models {

// What must be left of max_length for a text that takes several windows: if what surrounds it
// filled nearly all, each few tokens of the text would need a window.
inline int64_t least_room(int64_t max_length) { return std::max<int64_t>(1, max_length / 8); }

// Encodings cut into windows over one of their texts. The tokens around that text are in all
// windows.
struct Windows {
  std::vector<Encoding> encodings;   // without offsets
  std::vector<int64_t> starts;       // by window: the text's token that it begins with
  std::vector<size_t> inputs = {0};  // input i has the windows [inputs[i], inputs[i + 1])

  size_t input_of(size_t window) const {
    return static_cast<size_t>(std::ranges::upper_bound(inputs, window) - inputs.begin()) - 1;
  }

  // Adds the next input's windows. `text` is whole.first or whole.second. Neighbouring windows
  // overlap by `stride` tokens, at most half a window. Throws if max_length has no room for the
  // text.
  void add(const Encoding& whole, TokenRange text, int64_t max_length, int64_t stride);
};

// Encodes texts whole: not truncated, and without the prompt.
std::vector<Encoding> encode_whole(const tokenizer::TextEncoder& text_encoder,
                                   std::span<const Input> inputs, const ForEach& for_each);

}  // namespace bert::models
