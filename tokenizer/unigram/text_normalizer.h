// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
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
    replace_spaces,  // two spaces or more (the expression " {2,}"), by `to`
    nfc,
    nfd,
    nfkc,
    nfkd,
    strip_accents,
    lowercase,
    precompiled,
    strip,  // white space on the left or right
  } kind;
  std::u32string from = {}, to = {};
  std::shared_ptr<const Charsmap> charsmap = nullptr;
  bool left = false, right = false;
};

// A scalar of normalised text, and the index of the original scalar from which it comes.
struct SourcedScalar {
  char32_t c;
  int32_t source;
};

// A scalar of a step's result and the change in length, as in Hugging Face's
// NormalizedString::transform: 1, it is inserted; 0, it replaces the next scalar; -n, it replaces
// that one and the n after it are removed.
struct Edit {
  char32_t c;
  int32_t change;
};

// Memory reused from call to call. `text` is the result.
// How long a text may become: far longer than any published tokenizer makes it, while a file of a
// few replacements could make it endless.
inline size_t most_of_normalised(size_t size) {
  return std::min<size_t>(64 * size + 65536, INT32_MAX);
}

struct NormalizerScratch {
  std::vector<SourcedScalar> text, other;
  std::vector<Edit> edits;
  bool ascii = true;  // all of `text`
  size_t most = 0;    // scalars that `text` may have
};

// A sequence of normalizers that gives each scalar the same source as Hugging Face's tokenizers.
class TextNormalizer {
 public:
  explicit TextNormalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  // piece: a part of the original text that begins at its scalar `first`. False if it is not
  // well-formed UTF-8.
  bool normalize(std::string_view piece, int32_t first, NormalizerScratch& scratch) const;
  // The normalised form, in UTF-8, of a well-formed text.
  std::string normalized(std::string_view text) const;

 private:
  std::vector<NormalizerStep> steps_;
};

// Whether NFC is sure to leave a text unchanged (like the quick check of UAX #15, a little
// stricter). If the text is not well-formed, either answer.
bool is_composed(std::string_view text);
// Set the edits of Unicode's normalization forms; compose() follows decompose().
void decompose(bool compatible, NormalizerScratch& scratch);
void compose(NormalizerScratch& scratch);
// Sets the edits of a Precompiled normalizer: by grapheme if that is short and begins with a key,
// otherwise by scalar. False if nothing changes.
bool apply_charsmap(const Charsmap& charsmap, NormalizerScratch& scratch);

}  // namespace bert::tokenizer
