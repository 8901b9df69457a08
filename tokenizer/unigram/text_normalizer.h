// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/unigram/charsmap.h"

namespace bert::tokenizer {

// One of Hugging Face's normalizers.
struct NormalizerStep {
  enum class Kind {
    replace,         // `from` by `to`
    replace_spaces,  // two spaces or more, as the expression " {2,}" finds them, by `to`
    nfc,
    nfd,
    nfkc,
    nfkd,
    strip_accents,
    lowercase,
    precompiled,
    strip,  // white space, on the left and right
  } kind;
  std::u32string from = {}, to = {};
  std::shared_ptr<const Charsmap> charsmap = nullptr;
  bool left = false, right = false;
};

// A scalar of normalised text, and the scalar of the original text that it comes from.
struct SourcedScalar {
  char32_t c;
  int32_t source;
};

// What a step makes of a text: each scalar with the number of those that it adds to the text, as in
// Hugging Face's NormalizedString::transform: 1, it is new; 0, it takes the place of the next one;
// less, so many after that one are gone.
struct Edit {
  char32_t c;
  int32_t change;
};

// Memory of a run, which lives from call to call. `text` is the result.
struct NormalizerScratch {
  std::vector<SourcedScalar> text, other;
  std::vector<Edit> edits, sorted;
  bool ascii = true;  // all of the text
};

// A sequence of normalizers, with the sources that Hugging Face's tokenizers give each scalar.
class TextNormalizer {
 public:
  explicit TextNormalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  // piece: a part of the original text that begins at its scalar `first`. False where it is not
  // well-formed UTF-8.
  bool normalize(std::string_view piece, int32_t first, NormalizerScratch& scratch) const;
  // Alone, in UTF-8. text: well-formed.
  std::string normalized(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

// The edits of Unicode's normalization forms.
void decompose(bool compatible, NormalizerScratch& scratch);
void compose(NormalizerScratch& scratch);
// Those of a Precompiled normalizer: by grapheme where that is short and begins as a key does, else
// by scalar. False where there are none.
bool apply_charsmap(const Charsmap& charsmap, NormalizerScratch& scratch);

}  // namespace bert::tokenizer
