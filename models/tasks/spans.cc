// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/spans.h"

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::models {
namespace {

// The byte at which a scalar begins, or the text's size.
size_t byte_of(std::string_view text, int32_t scalar) {
  size_t at = 0;
  for (; scalar > 0 && at < text.size(); --scalar) tokenizer::utf8::decode(text.data(), at);
  return at;
}

}  // namespace

bool is_same_word(const Tokenizer& tokenizer, const Encoding& encoding, int64_t t) {
  if (tokenizer.continues_word(encoding.ids[t])) return true;
  // SentencePiece's U+2581 alone only begins a word, the rest of which may be unknown.
  constexpr std::string_view kBegin = "\u2581";
  return tokenizer.token(encoding.ids[t - 1]) == kBegin &&
         !tokenizer.token(encoding.ids[t]).starts_with(kBegin) &&
         encoding.offsets[t].begin <= encoding.offsets[t - 1].end;
}

std::string cut(std::string_view text, Offset offset) {
  const size_t begin = byte_of(text, offset.begin);
  text.remove_prefix(begin);
  return std::string(text.substr(0, byte_of(text, offset.end - offset.begin)));
}

Offset without_spaces(std::string_view text, Offset offset) {
  const std::string string = cut(text, offset);
  Offset inside = {offset.end, offset.end};
  int32_t scalar = offset.begin;
  for (size_t at = 0; at < string.size(); ++scalar) {
    if (tokenizer::unicode::is_space(tokenizer::utf8::decode(string.data(), at))) continue;
    if (inside.begin == offset.end) inside.begin = scalar;
    inside.end = scalar + 1;
  }
  return inside;
}

std::vector<Span> entities_of(const std::vector<Span>& words, const Input& input) {
  std::vector<Span> entities;
  std::vector<int> counts;
  const Span* previous = nullptr;  // null at the start and after an O
  for (const Span& word : words) {
    const bool begins = word.label.starts_with("B-");
    const bool prefixed = begins || word.label.starts_with("I-");
    const std::string kind = prefixed ? word.label.substr(2) : word.label;
    if (word.label == "O") {
      previous = nullptr;
      continue;
    }
    const bool continues =
        previous && !begins && previous->text == word.text && entities.back().label == kind;
    if (continues) {
      entities.back().offset.end = word.offset.end;
      entities.back().probability += word.probability;
      ++counts.back();
    } else {
      entities.push_back(word);
      entities.back().label = kind;
      counts.push_back(1);
    }
    previous = &word;
  }
  for (size_t i = 0; i < entities.size(); ++i) {
    entities[i].probability /= static_cast<float>(counts[i]);
    entities[i].string = cut(entities[i].text ? *input.second : input.first, entities[i].offset);
  }
  return entities;
}

}  // namespace bert::models
