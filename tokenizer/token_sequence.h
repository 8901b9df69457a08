// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tokenizer/raw_buffer.h"
#include "tokenizer/tokenizer.h"

namespace bert::tokenizer {

// The tokens of one text, before truncation and special tokens.
struct TokenSequence {
  RawBuffer<int32_t> ids;
  RawBuffer<Offset> offsets;
  size_t size = 0;
  bool full = false;     // a word has reached the limit: nothing comes after it
  bool complete = true;  // false where something would have come after it

  void clear() { size = 0, full = false, complete = true; }
  // Room for `more` calls of push().
  void reserve(size_t more) {
    ids.reserve(size + more, size);
    offsets.reserve(size + more, size);
  }
  void push(int32_t id, int32_t begin, int32_t end) {
    ids[size] = id;
    offsets[size++] = {begin, end};
  }
  // An added token, which may stand behind the limit where a word may not.
  void push_added(int32_t id, int32_t begin, int32_t end) {
    complete = complete && !full;
    if (!complete) return;
    reserve(1);
    push(id, begin, end);
  }
};

}  // namespace bert::tokenizer
