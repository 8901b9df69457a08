// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/wordpiece/bert_normalizer.h"

namespace bert::tokenizer {

// One call of normalize().
//
// Offsets follow Hugging Face's alignments: canonical reordering moves marks but not their sources,
// so the k-th scalar that begins a decomposition gets the k-th source scalar, whether or not it is
// its own.
class NormalizerRun {
 public:
  // Bytes taken at once, in vectors that GCC and Clang compile for any instruction set.
  static constexpr size_t kBlock = 16;

  NormalizerRun(const BertNormalizer& normalizer, std::string_view piece, int32_t source,
                NormalizedText& out)
      : normalizer_(normalizer),
        options_(normalizer.options_),
        piece_(piece),
        source_(source),
        out_(out) {
    // A scalar grows to at most three times its bytes, as the tables' generator checks; blocks and
    // scalars are written whole.
    const size_t max_bytes = 3 * piece.size() + 2 * kBlock;
    out.bytes_.reserve(max_bytes);
    out.sources_.reserve(max_bytes);
    out.breaks_.reserve(max_bytes / 64 + 2);
    std::fill_n(out.breaks_.data(), max_bytes / 64 + 2, 0);
    out.size_ = 0;
  }

  bool run();

 private:
  bool take_block();
  void take_ascii();
  // In normalize_scalars.cc:
  bool take_scalar();
  void take(char32_t c, int32_t source);
  void decompose(char32_t c, unicode::Property p, int32_t source);
  void decompose_hangul(char32_t i, int32_t source);
  void order(char32_t c, unicode::Property p, int32_t source, bool first);
  void put_marks();
  void sort_marks();
  void finish(char32_t c, uint8_t flags, int32_t source);

  void flush_marks() {
    if (!out_.marks_.empty()) put_marks();
  }

  void put(char32_t c, uint8_t flags, int32_t source) {
    if (flags & (unicode::kSpace | unicode::kPunctuation)) {
      out_.breaks_[out_.size_ / 64] |= uint64_t{1} << out_.size_ % 64;
    }
    char bytes[4];
    put_bytes(bytes, utf8::encode(c, bytes), source);
  }

  // Appends a scalar's 1 to 4 bytes.
  void put_bytes(const char* bytes, size_t length, int32_t source) {
    char* const out = out_.bytes_.data() + out_.size_;
    int32_t* const sources = out_.sources_.data() + out_.size_;
    for (size_t i = 0; i < length; ++i) out[i] = bytes[i];
    for (size_t i = 0; i < 4; ++i) sources[i] = source;
    out_.size_ += length;
  }

  const BertNormalizer& normalizer_;
  const NormalizerOptions options_;
  const std::string_view piece_;
  size_t at_ = 0;
  int32_t source_;  // the scalar at at_
  NormalizedText& out_;
};

}  // namespace bert::tokenizer
