// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece/word_table.h"

#include <bit>

namespace bert::tokenizer {

// At most two thirds of the table is in use.
WordTable::WordTable(size_t words)
    : tags_(std::bit_ceil(words + words / 2 + 2)),
      mask_(tags_.size() - 1),
      shift_(64 - std::countr_zero(tags_.size())) {
  entries_.reserve(tags_.size());
}

void WordTable::insert(const ShortWord& word, int32_t id) {
  const uint64_t hash = word.hash();
  size_t i = hash >> shift_;
  while (tags_[i] != 0 && !entries_[i].is(word)) i = (i + 1) & mask_;
  tags_[i] = tag(hash);
  entries_[i] = {word.low, word.high, word.size, id};
}

}  // namespace bert::tokenizer
