// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/text_encoder.h"
#include "tokenizer/unicode/raw_buffer.h"

namespace bert::tokenizer {

// The tokens of one text, before truncation and special tokens.
struct TokenSequence {
  RawBuffer<int32_t> ids;
  RawBuffer<Offset> offsets;
  size_t size = 0;
  bool full = false;                        // a word has reached the limit: nothing may follow
  bool complete = true;                     // false if something would have followed
  bool trims = false, keeps_first = false;  // trim_offsets and keeps_first of the Definition

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
  // Adds an added token, which, unlike a word, does not fill the sequence at the limit. text: what
  // it matched, normalised or not, with the white space that it stripped.
  void push_added(int32_t id, int32_t begin, int32_t end, std::string_view text);

 private:
  void trim(Offset& offset, std::string_view text) const;  // as Hugging Face's process_offsets
};

}  // namespace bert::tokenizer
