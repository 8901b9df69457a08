// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece/word_table.h"

#include <bit>

namespace bert::tokenizer {

// entry_of() masks the bytes after a word.
static_assert(std::endian::native == std::endian::little);

// At most two thirds of the table are in use.
WordTable::WordTable(size_t words)
    : tags_(std::bit_ceil(words + words / 2 + 2)),
      mask_(tags_.size() - 1),
      shift_(64 - std::countr_zero(tags_.size())) {
  entries_.reserve(tags_.size());
}

void WordTable::insert(std::string_view word, int32_t id) {
  char bytes[kMaxSize] = {};
  std::memcpy(bytes, word.data(), word.size());
  Entry entry = entry_of(bytes, word.size());
  entry.id = id;
  const uint64_t hash = entry.hash();
  size_t i = hash >> shift_;
  while (tags_[i] != 0 && !entries_[i].equals(entry)) i = (i + 1) & mask_;
  tags_[i] = tag(hash);
  entries_[i] = entry;
}

}  // namespace bert::tokenizer
