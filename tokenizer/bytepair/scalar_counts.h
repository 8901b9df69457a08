// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/bytepair/merging/word_cache.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

// How many scalars begin in each token, which offsets are made of: looked up, not counted each
// time.
class ScalarCounts {
 public:
  explicit ScalarCounts(size_t tokens) : counts_(tokens, kMany) {}

  void set(int32_t id, std::string_view bytes) {
    const size_t count = utf8::count_scalars(bytes);
    counts_[static_cast<size_t>(id)] = static_cast<uint8_t>(std::min<size_t>(count, kMany));
  }
  // bytes: those of the part.
  int32_t of(const WordPart& part, const char* bytes) const {
    const uint8_t count = counts_[static_cast<size_t>(part.id)];
    if (count != kMany) return count;
    return static_cast<int32_t>(utf8::count_scalars({bytes, static_cast<size_t>(part.length)}));
  }

 private:
  static constexpr uint8_t kMany = 255;  // to be counted

  std::vector<uint8_t> counts_;  // by id
};

}  // namespace bert::tokenizer
