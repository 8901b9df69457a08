// SPDX-License-Identifier: Apache-2.0
//
// The strings of a text's tokens, as in Hugging Face's Encoding.tokens.
#include <algorithm>
#include <string>
#include <vector>

#include "tokenizer/text_encoder_impl.h"

namespace bert::tokenizer {

std::vector<std::string> TextEncoder::strings(std::string_view first,
                                              std::optional<std::string_view> second,
                                              int max_length) const {
  EncodingScratch scratch;
  scratch.first.notes.of_strings = scratch.second.notes.of_strings = true;
  const Encoding encoding = impl_->encode(first, second, max_length, scratch);
  std::vector<std::string> out;
  for (const TemplatePiece& piece : second ? impl_->pair : impl_->single) {
    for (size_t i = 0; i < piece.ids.size(); ++i) {
      const bool is_named = !piece.strings.empty();
      out.push_back(is_named ? piece.strings[i] : impl_->vocabulary.token(piece.ids[i]));
    }
    if (piece.kind == TemplatePiece::Kind::special) continue;
    const bool is_first = piece.kind == TemplatePiece::Kind::first;
    const TokenSequence& text = is_first ? scratch.first : scratch.second;
    const TokenRange range = is_first ? encoding.first : encoding.second;
    const auto kept = static_cast<size_t>(range.end - range.begin);
    const size_t from = impl_->truncate_left ? text.size - kept : 0;
    auto spelled = std::ranges::lower_bound(text.notes.spelled, from, {}, &SpelledToken::index);
    for (size_t i = from; i < from + kept; ++i) {
      const bool is_spelled = spelled != text.notes.spelled.end() && spelled->index == i;
      out.push_back(is_spelled ? spelled++->string : impl_->vocabulary.token(text.ids[i]));
    }
  }
  return out;
}

}  // namespace bert::tokenizer
