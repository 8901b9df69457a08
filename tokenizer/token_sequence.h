// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/offsets/spelled_token.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/unicode/raw_buffer.h"

namespace bert::tokenizer {

// The tokens of one text, before truncation and special tokens.
struct TokenSequence {
  RawBuffer<int32_t> ids;
  RawBuffer<Offset> offsets;
  size_t size = 0;
  bool full = false;     // a word has reached the limit: nothing may follow
  bool complete = true;  // false if something had to be left out
  TokenNotes notes;

  void clear() {
    size = 0, full = false, complete = true;
    notes.clear();
  }
  // Room for `more` calls of push().
  void reserve(size_t more) {
    ids.reserve(size + more, size);
    offsets.reserve(size + more, size);
  }
  // Whether another word, whose tokens are then pushed, may follow.
  bool begin_word() {
    complete = complete && !full;
    if (complete) notes.word(size);
    return complete;
  }
  void push(int32_t id, int32_t begin, int32_t end) {
    ids[size] = id;
    offsets[size++] = {begin, end};
  }
  // Pushes an added token, which, unlike a word, never makes the sequence full. text: what it
  // matched, normalised or not, with the white space that it stripped.
  void push_added(int32_t id, int32_t begin, int32_t end, std::string_view text);
};

}  // namespace bert::tokenizer
