// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

// Which scalar a byte of a text belongs to, counted from `first` on. If asked in order, or nearly
// so, it takes time proportional to the text.
class ScalarCounter {
 public:
  ScalarCounter(std::string_view text, int32_t first) : text_(text), scalar_(first) {}

  int32_t at(size_t byte) {
    const auto count = [&](size_t from, size_t to) {
      return static_cast<int32_t>(utf8::count_scalars(text_.substr(from, to - from)));
    };
    scalar_ += byte >= byte_ ? count(byte_, byte) : -count(byte, byte_);
    byte_ = byte;
    return scalar_;
  }

 private:
  std::string_view text_;
  size_t byte_ = 0;
  int32_t scalar_;
};

}  // namespace bert::tokenizer
