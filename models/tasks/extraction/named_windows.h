// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/config/extraction/span_settings.h"
#include "models/network/batch.h"
#include "models/network/extraction/entity_head.h"
#include "models/tasks/extraction/words.h"
#include "tokenizer/text_encoder.h"

namespace bert::models {

// What comes before and after a text's words: [CLS], a marker and its words for each label, a
// separator; and [SEP].
struct NamedLabels {
  NamedLabels(const tokenizer::TextEncoder& encoder, const SpanSettings& settings,
              std::span<const std::string> labels);

  std::vector<int32_t> before, after;  // ids
  std::vector<int32_t> tokens;         // [C], of `before`: where each label's state is read
};

// A text's words after the labels, or some of them if they do not fit.
struct NamedWindow {
  Encoding encoding;               // without offsets
  size_t first = 0;                // of the text's words
  std::vector<int32_t> beginning;  // by word: its first token
};

// A text as GLiNER reads it: each word by itself becomes tokens.
struct NamedText {
  std::vector<Word> words;  // those that have a token
  std::vector<NamedWindow> windows;
};
NamedText read_named(const tokenizer::TextEncoder& encoder, const SpanSettings& settings,
                     const NamedLabels& labels, std::string_view text, int64_t max_length,
                     int64_t stride);

// The windows in `order`, as a batch has them one after the other.
EntityTokens tokens_of(std::span<const NamedWindow* const> windows, std::span<const int64_t> order,
                       const NamedLabels& labels, const Batch& batch);

}  // namespace bert::models
