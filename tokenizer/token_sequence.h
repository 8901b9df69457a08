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
  bool complete = true;  // false if something would have followed
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
  // Whether there is room for another word, whose tokens are then pushed.
  bool begin_word() {
    complete = complete && !full;
    if (complete) notes.word(size);
    return complete;
  }
  void push(int32_t id, int32_t begin, int32_t end) {
    ids[size] = id;
    offsets[size++] = {begin, end};
  }
  // Adds an added token, which, unlike a word, does not fill the sequence at the limit. text: what
  // it matched, normalised or not, with the white space that it stripped.
  void push_added(int32_t id, int32_t begin, int32_t end, std::string_view text);
};

}  // namespace bert::tokenizer
