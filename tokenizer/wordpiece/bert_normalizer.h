// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/unicode/raw_buffer.h"

namespace bert::tokenizer {

struct NormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

// Normalised text in UTF-8, the scalar of the original text that each of its bytes comes from, and
// where words end.
class NormalizedText {
 public:
  std::string_view text() const { return {bytes_.data(), size_}; }
  int32_t source(size_t byte) const { return sources_[byte]; }
  // Bit i % 64 of word i / 64 is set if a white space or punctuation character begins at byte i.
  const uint64_t* breaks() const { return breaks_.data(); }

 private:
  friend class NormalizerRun;
  RawBuffer<char> bytes_;
  RawBuffer<int32_t> sources_;
  RawBuffer<uint64_t> breaks_;
  size_t size_ = 0;

  // Scratch for canonical reordering.
  struct Mark {
    char32_t c;
    int32_t source;
    uint8_t rank;
    bool first;  // the first of its source's decomposition
  };
  std::vector<Mark> marks_, sorted_;
};

// Hugging Face's BertNormalizer, in its order: clean, put spaces around Chinese characters,
// decompose (NFD) and drop nonspacing marks, lowercase. Time is linear in the text.
class BertNormalizer {
 public:
  explicit BertNormalizer(const NormalizerOptions& options);

  // piece: a part of the original text that begins at its scalar `first`. False if it is not
  // well-formed UTF-8. `out` is overwritten; its memory is kept from call to call.
  bool normalize(std::string_view piece, int32_t first, NormalizedText& out) const;

 private:
  friend class NormalizerRun;
  static constexpr uint8_t kDrop = 0xff;
  bool is_plain(char32_t c) const;

  NormalizerOptions options_;
  std::array<uint8_t, 128> ascii_;  // what an ASCII byte becomes, or kDrop
  // By bit: scalars below U+10000 that are part of words and stay as they are.
  std::array<uint64_t, 1024> plain_{};
};

}  // namespace bert::tokenizer
