// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/extraction/spans.h"

#include <algorithm>
#include <utility>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::models {
bool is_same_word(const Tokenizer& tokenizer, const Encoding& encoding, int64_t t) {
  if (tokenizer.continues_word(encoding.ids[t])) return true;
  // SentencePiece's U+2581 alone only begins a word, the rest of which may be unknown. PhoBERT
  // marks the tokens that do not end their word. (Byte-level offsets may have U+0120's space in
  // them.)
  constexpr std::string_view kBegin = "\u2581", kSpace = "\u0120", kContinued = "@@";
  const std::string_view before = tokenizer.token(encoding.ids[t - 1]);
  const std::string_view token = tokenizer.token(encoding.ids[t]);
  return (before == kBegin || before.ends_with(kContinued)) && !token.starts_with(kBegin) &&
         !token.starts_with(kSpace) && encoding.offsets[t].begin <= encoding.offsets[t - 1].end;
}

ScalarText::ScalarText(std::string_view text) : text_(text) {
  int32_t scalar = 0;
  for (size_t at = 0; at < text.size(); ++scalar) {
    if (scalar % kStep == 0) steps_.push_back(at);
    tokenizer::utf8::decode(text.data(), at);
  }
}

size_t ScalarText::byte_of(int32_t scalar) const {
  const auto step = static_cast<size_t>(scalar / kStep);
  if (step >= steps_.size()) return text_.size();
  size_t at = steps_[step];
  for (int32_t left = scalar % kStep; left > 0 && at < text_.size(); --left) {
    tokenizer::utf8::decode(text_.data(), at);
  }
  return at;
}

std::string ScalarText::cut(Offset offset) const {
  const size_t begin = byte_of(offset.begin);
  return std::string(text_.substr(begin, byte_of(offset.end) - begin));
}

Offset ScalarText::without_spaces(Offset offset) const {
  const std::string string = cut(offset);
  Offset inside = {offset.end, offset.end};
  int32_t scalar = offset.begin;
  for (size_t at = 0; at < string.size(); ++scalar) {
    if (tokenizer::unicode::is_space(tokenizer::utf8::decode(string.data(), at))) continue;
    if (inside.begin == offset.end) inside.begin = scalar;
    inside.end = scalar + 1;
  }
  return inside;
}

std::vector<Span> entities_of(const std::vector<Span>& words, std::span<const ScalarText> texts,
                              bool whole_spans) {
  std::vector<Span> entities;
  std::vector<int> counts;
  const Span* previous = nullptr;  // null at the start and after an O or an end
  std::string kind_before;
  for (const Span& word : words) {
    if (!is_entity(word)) {
      previous = nullptr;
      continue;
    }
    const bool begins =
        word.label.starts_with("B-") || (whole_spans && word.label.starts_with("S-"));
    const bool prefixed = begins || word.label.starts_with("I-") || whole_spans;
    const std::string kind = prefixed ? word.label.substr(2) : word.label;
    const bool continues =
        previous && !begins && previous->text == word.text && kind_before == kind;
    if (continues) {
      entities.back().offset.end = word.offset.end;
      entities.back().probability += word.probability;
      ++counts.back();
    } else {
      entities.push_back(word);
      entities.back().label = word.label.substr(word.label.find('-') + 1);
      counts.push_back(1);
    }
    const bool ends = whole_spans && (word.label.starts_with("E-") || word.label.starts_with("S-"));
    previous = ends ? nullptr : &word;
    kind_before = kind;
  }
  for (size_t i = 0; i < entities.size(); ++i) {
    entities[i].probability /= static_cast<float>(counts[i]);
    entities[i].string = texts[entities[i].text].cut(entities[i].offset);
  }
  return entities;
}

std::vector<Span> without_overlaps(std::vector<Span> spans) {
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return span.offset.begin; });
  std::vector<Span> kept;
  for (Span& span : spans) {
    if (kept.empty() || span.offset.begin >= kept.back().offset.end) {
      kept.push_back(std::move(span));
      continue;
    }
    const auto length = [](const Span& of) { return of.offset.end - of.offset.begin; };
    const Span& last = kept.back();
    if (length(span) > length(last) ||
        (length(span) == length(last) && span.probability > last.probability)) {
      kept.back() = std::move(span);
    }
  }
  return kept;
}

}  // namespace bert::models
