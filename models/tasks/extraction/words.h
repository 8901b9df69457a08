// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// A word of a text.
struct Word {
  std::string_view string;
  Offset offset;
};
// As the GLiNER library splits texts: Python's \w+(?:[-_]\w+)*|\S. The text must outlive the words.
// Throws std::runtime_error on invalid UTF-8.
std::vector<Word> split_words(std::string_view text);

}  // namespace bert::models
