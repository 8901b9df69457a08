// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_table.h"

#include <array>
#include <bit>

namespace bert::tokenizer {

namespace {
static_assert(std::endian::native == std::endian::little);
constexpr uint64_t low_bytes(size_t count) {
  return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * count) - 1;
}
}  // namespace

#define MASK(n) \
  { low_bytes(n), low_bytes((n) < 8 ? 0 : (n)-8) }
const WordTable::Mask WordTable::kMasks[] = {
    MASK(0), MASK(1),  MASK(2),  MASK(3),  MASK(4),  MASK(5),  MASK(6),  MASK(7), MASK(8),
    MASK(9), MASK(10), MASK(11), MASK(12), MASK(13), MASK(14), MASK(15), MASK(16)};

WordTable::WordTable(size_t words)
    : tags_(std::bit_ceil(2 * words + 2)),
      entries_(tags_.size()),
      mask_(entries_.size() - 1),
      shift_(64 - std::countr_zero(entries_.size())) {}

void WordTable::insert(std::string_view word, int32_t id) {
  char bytes[kMaxSize] = {};
  std::memcpy(bytes, word.data(), word.size());
  const Key key(bytes, word.size());
  const uint64_t hash = key.hash();
  size_t i = hash >> shift_;
  while (tags_[i] != 0 && !(entries_[i].key == key)) i = (i + 1) & mask_;
  tags_[i] = tag(hash);
  entries_[i] = {key, id};
}

}  // namespace bert::tokenizer
