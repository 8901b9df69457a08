// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bert::tokenizer {

struct NormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

// Normalised text in UTF-8, and the scalar of the original text that each of its bytes comes from.
class NormalizedText {
 public:
  std::string_view text() const { return {bytes_.data(), size_}; }
  int32_t source(size_t byte) const {
    return in_step_ ? first_ + static_cast<int32_t>(byte) : sources_[byte];
  }

 private:
  friend class BertNormalizer;
  friend class NormalizerRun;
  std::vector<char> bytes_;       // the first size_ are the text
  std::vector<int32_t> sources_;  // as bytes_, unless in_step_
  size_t size_ = 0;
  int32_t first_ = 0;
  bool in_step_ = true;  // every byte is one scalar and stands for the next one of the original

  // Scratch of canonical reordering.
  struct Mark {
    char32_t c;
    int32_t source;
    uint8_t rank;
    bool first;  // of its source's decomposition
  };
  std::vector<Mark> marks_, sorted_;
};

// Hugging Face's BertNormalizer, in its order: clean, set Chinese characters apart, decompose (NFD)
// and drop nonspacing marks, lower case. Time is linear in the text.
class BertNormalizer {
 public:
  explicit BertNormalizer(const NormalizerOptions& options);

  // piece: well-formed UTF-8, a part of the original text that begins at its scalar `first`. `out`
  // is overwritten; its memory is kept from call to call.
  void normalize(std::string_view piece, int32_t first, NormalizedText& out) const;

 private:
  friend class NormalizerRun;
  static constexpr uint8_t kDrop = 0xff;
  NormalizerOptions options_;
  std::array<uint8_t, 128> ascii_;  // what an ASCII byte becomes, or kDrop
};

}  // namespace bert::tokenizer
