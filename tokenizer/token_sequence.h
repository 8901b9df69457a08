// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace bert::tokenizer {

// The tokens of one text, before truncation and special tokens.
struct TokenSequence {
  std::vector<int32_t> ids;
  std::vector<Offset> offsets;
  bool complete = true;  // false where the end of the text was left aside

  void clear() { ids.clear(), offsets.clear(), complete = true; }
  void push(int32_t id, int32_t begin, int32_t end) {
    ids.push_back(id);
    offsets.push_back({begin, end});
  }
};

}  // namespace bert::tokenizer
