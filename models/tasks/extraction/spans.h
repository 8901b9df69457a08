// SPDX-License-Identifier: Apache-2.0
//
// From tokens to words, and to the parts of a text that they cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// Whether token t > 0 belongs to the same word as the token before it.
bool is_same_word(const Tokenizer& tokenizer, const Encoding& encoding, int64_t t);

// Cuts parts out of a text, by offsets that count its scalars. The text must outlive this.
class ScalarText {
 public:
  explicit ScalarText(std::string_view text);
  std::string cut(Offset offset) const;
  // The offset without the white space at either end, as a SentencePiece token includes the space
  // before it. {end, end} if there is nothing else.
  Offset without_spaces(Offset offset) const;

 private:
  size_t byte_of(int32_t scalar) const;  // where the scalar begins, or the text's size
  static constexpr int32_t kStep = 64;
  std::string_view text_;
  std::vector<size_t> steps_;  // the byte at which every kStep-th scalar begins
};

// Whether a label names an entity: all but O do.
inline bool is_entity(const Span& word) { return word.label != "O"; }

// Joins neighbouring words of one entity (Ramshaw and Marcus 1995): B-KIND begins one, I-KIND
// continues it; other labels continue as long as they stay the same, and as in transformers, an
// entity is named by what follows their first hyphen, if any. O is not an entity. texts: the first
// and, if there is one, the second. whole_spans: E-KIND ends one, too, and S-KIND is one.
std::vector<Span> entities_of(const std::vector<Span>& words, std::span<const ScalarText> texts,
                              bool whole_spans = false);

// Keeps the longer of two spans that overlap, as those of neighbouring windows do, or the more
// probable if they are equally long.
std::vector<Span> without_overlaps(std::vector<Span> spans);

}  // namespace bert::models
