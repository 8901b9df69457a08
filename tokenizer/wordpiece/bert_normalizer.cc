// SPDX-License-Identifier: Apache-2.0
//
// Normalises printable ASCII in blocks; normalize_scalars.cc handles scalars beyond ASCII.
#include "tokenizer/wordpiece/bert_normalizer.h"

#include <bit>
#include <cstring>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/wordpiece/normalizer_run.h"

namespace bert::tokenizer {

namespace {

using Block = uint8_t __attribute__((vector_size(NormalizerRun::kBlock)));
using Halves = uint64_t __attribute__((vector_size(NormalizerRun::kBlock)));

// One bit for each byte of a comparison's result.
uint32_t bits_of(Halves mask) {
  static_assert(std::endian::native == std::endian::little);
  const auto gather = [](uint64_t half) {
    return static_cast<uint32_t>((half & 0x8040201008040201u) * 0x0101010101010101u >> 56);
  };
  return gather(mask[0]) | gather(mask[1]) << 8;
}

}  // namespace

// Takes the printable ASCII that comes next, up to a block; false if there is none.
inline bool NormalizerRun::take_block() {
  Block block{};
  const size_t left = piece_.size() - at_;
  if (left >= kBlock) {  // the usual case, as one load
    std::memcpy(&block, piece_.data() + at_, kBlock);
  } else {
    std::memcpy(&block, piece_.data() + at_, left);
  }
  const uint32_t printable = bits_of(reinterpret_cast<Halves>(block - 0x20 < 0x5f));
  const auto count = static_cast<uint32_t>(std::countr_one(printable));
  if (count == 0) return false;
  flush_marks();
  const Block alphabetic = (block | 0x20) - 'a' < 26, digit = block - '0' < 10;
  const uint32_t in_words = bits_of(reinterpret_cast<Halves>(alphabetic | digit));
  if (options_.lowercase) block |= alphabetic & 0x20;
  std::memcpy(out_.bytes_.data() + out_.size_, &block, kBlock);
  int32_t* const sources = out_.sources_.data() + out_.size_;
  for (int32_t i = 0; i < static_cast<int32_t>(kBlock); ++i) sources[i] = source_ + i;
  const uint64_t breaks = ~in_words & ((1u << count) - 1);
  uint64_t* const words = out_.breaks_.data() + out_.size_ / 64;
  const size_t shift = out_.size_ % 64;
  words[0] |= breaks << shift;
  if (shift > 64 - kBlock) words[1] |= breaks >> (64 - shift);
  out_.size_ += count;
  at_ += count;
  source_ += static_cast<int32_t>(count);
  return true;
}

inline void NormalizerRun::take_ascii() {
  const auto c = static_cast<uint8_t>(piece_[at_++]);
  const int32_t source = source_++;
  const uint8_t becomes = normalizer_.ascii_[c];
  if (becomes == BertNormalizer::kDrop) return;  // the marks on either side of it are one sequence
  flush_marks();
  put(becomes, unicode::property(becomes).flags, source);
}

bool NormalizerRun::run() {
  while (at_ < piece_.size()) {
    if (static_cast<uint8_t>(piece_[at_]) >= 0x80) {
      if (!take_scalar()) return out_.marks_.clear(), false;
    } else if (!take_block()) {
      take_ascii();
    }
  }
  flush_marks();
  return true;
}

bool BertNormalizer::normalize(std::string_view piece, int32_t first, NormalizedText& out) const {
  return NormalizerRun(*this, piece, first, out).run();
}

}  // namespace bert::tokenizer
