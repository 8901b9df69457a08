// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/offsets/offset_trimmer.h"

#include <algorithm>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

Blanks blanks_of(std::string_view text) {
  constexpr char32_t kMappedSpace = 0x120;  // byte-level vocabularies' space
  Blanks blanks;
  bool leading = true;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = utf8::decode(text.data(), at);
    const bool is_blank = c == kMappedSpace || unicode::is_space(c);
    leading = leading && is_blank;
    blanks.leading += leading ? 1 : 0;
    blanks.trailing = is_blank ? blanks.trailing + 1 : 0;
  }
  return blanks;
}

OffsetTrimmer::OffsetTrimmer(std::vector<TrimPass> passes, const Vocabulary& vocabulary)
    : passes_(std::move(passes)) {
  if (passes_.empty()) return;
  blanks_.resize(static_cast<size_t>(vocabulary.end_id()));
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (vocabulary.has(id)) blanks_[static_cast<size_t>(id)] = blanks_of(vocabulary.token(id));
  }
}

void OffsetTrimmer::trim(const TokenSequence& text, size_t from, std::span<Offset> offsets,
                         const std::vector<bool>& after) const {
  auto spelled = std::ranges::lower_bound(text.notes.spelled, from, {}, &SpelledToken::index);
  for (size_t i = 0; i < offsets.size(); ++i) {
    Blanks blanks = blanks_[static_cast<size_t>(text.ids[from + i])];
    if (spelled != text.notes.spelled.end() && spelled->index == from + i)
      blanks = spelled++->blanks;
    if (blanks.leading == 0 && blanks.trailing == 0) continue;
    auto& [begin, end] = offsets[i];
    for (size_t pass = 0; pass < passes_.size(); ++pass) {
      const bool is_after = !after.empty() && after[pass];
      const bool is_first = (i == 0 && !is_after) || begin == 0;
      const bool is_kept = passes_[pass].add_prefix_space && is_first && blanks.leading == 1;
      if (!is_kept) begin = std::min(begin + blanks.leading, end);
      if (end >= blanks.trailing) end = std::max(end - blanks.trailing, begin);
    }
  }
}

}  // namespace bert::tokenizer
