// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/text_normalizer.h"

#include <algorithm>
#include <stdexcept>

#include "tokenizer/unicode/text_tables.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

bool decode(std::string_view piece, int32_t first, NormalizerScratch& scratch) {
  std::vector<SourcedScalar>& text = scratch.text;
  text.resize(piece.size());
  size_t size = 0;
  char32_t any = 0;
  for (size_t at = 0; at < piece.size();) {
    char32_t c = static_cast<uint8_t>(piece[at]);
    const size_t length = c < 0x80 ? 1 : utf8::decode_checked(piece, at, c);
    if (length == 0) return false;
    any |= c;
    text[size++] = {c, first++};
    at += length;
  }
  text.resize(size);
  scratch.ascii = any < 0x80;
  return true;
}

void swap_in(NormalizerScratch& scratch) { scratch.text.swap(scratch.other); }

void apply(NormalizerScratch& scratch) {
  scratch.other.clear();
  scratch.other.reserve(scratch.edits.size());
  // A Precompiled normalizer makes no edit for scalars that it drops at the very start: what
  // follows then gets their sources, and some sources are left over at the end.
  size_t next = 0;
  for (const auto& [c, change] : scratch.edits) {
    if (change <= 0) next += static_cast<size_t>(1 - change);
    const size_t place = change > 0 ? next : next - static_cast<size_t>(1 - change) + 1;
    const size_t index = std::min(std::max<size_t>(place, 1), scratch.text.size()) - 1;
    scratch.other.push_back({c, scratch.text[index].source});
  }
  swap_in(scratch);
}

// Replaces each match by `to`, whose scalars all get the source of the match's last one.
// length(at): the length of the match that begins at scalar `at`, or 0.
template <class Length>
void replace(const std::u32string& to, NormalizerScratch& scratch, Length&& length) {
  std::vector<SourcedScalar>& text = scratch.text;
  size_t at = 0;
  while (at < text.size() && length(at) == 0) ++at;
  if (at == text.size()) return;
  scratch.other.assign(text.begin(), text.begin() + static_cast<ptrdiff_t>(at));
  while (at < text.size()) {
    if (const size_t matched = length(at); matched > 0) {
      at += matched;
      if (scratch.other.size() + to.size() > scratch.most) {
        throw std::runtime_error("the tokenizer's normalizers make the text too long");
      }
      for (const char32_t c : to) {
        scratch.other.push_back({c, text[at - 1].source});
        scratch.ascii = scratch.ascii && c < 0x80;
      }
    } else {
      scratch.other.push_back(text[at++]);
    }
  }
  swap_in(scratch);
}

void replace_string(const NormalizerStep& step, NormalizerScratch& scratch) {
  const std::u32string_view from = step.from;
  const std::vector<SourcedScalar>& text = scratch.text;
  replace(step.to, scratch, [&](size_t at) -> size_t {
    if (text[at].c != from[0] || text.size() - at < from.size()) return 0;
    for (size_t i = 1; i < from.size(); ++i) {
      if (text[at + i].c != from[i]) return 0;
    }
    return from.size();
  });
}

void replace_spaces(const NormalizerStep& step, NormalizerScratch& scratch) {
  const std::vector<SourcedScalar>& text = scratch.text;
  replace(step.to, scratch, [&](size_t at) -> size_t {
    size_t end = at;
    while (end < text.size() && text[end].c == ' ') ++end;
    return end - at >= 2 ? end - at : 0;
  });
}

void lowercase(NormalizerScratch& scratch) {
  std::vector<SourcedScalar>& text = scratch.text;
  bool dotted = false;
  for (SourcedScalar& scalar : text) {
    if (scalar.c < 0x80) {
      scalar.c += scalar.c - 'A' < 26 ? 'a' - 'A' : 0;
    } else {
      dotted = dotted || scalar.c == 0x130;
      if (scalar.c != 0x130) scalar.c = unicode::to_lower(scalar.c);
    }
  }
  if (!dotted) return;
  scratch.other.clear();  // U+0130 becomes two: U+0069 U+0307
  for (const SourcedScalar scalar : text) {
    const bool is_dotted = scalar.c == 0x130;
    scratch.other.push_back(is_dotted ? SourcedScalar{'i', scalar.source} : scalar);
    if (is_dotted) scratch.other.push_back({0x307, scalar.source});
  }
  swap_in(scratch);
}

void strip(const NormalizerStep& step, std::vector<SourcedScalar>& text) {
  while (step.right && !text.empty() && unicode::is_space(text.back().c)) text.pop_back();
  auto begin = text.begin();
  while (step.left && begin != text.end() && unicode::is_space(begin->c)) ++begin;
  text.erase(text.begin(), begin);
}

void run(const NormalizerStep& step, NormalizerScratch& scratch) {
  const bool compatible =
      step.kind == NormalizerStep::Kind::nfkc || step.kind == NormalizerStep::Kind::nfkd;
  switch (step.kind) {
    case NormalizerStep::Kind::replace:
      return replace_string(step, scratch);
    case NormalizerStep::Kind::replace_spaces:
      return replace_spaces(step, scratch);
    case NormalizerStep::Kind::nfc:
    case NormalizerStep::Kind::nfd:
    case NormalizerStep::Kind::nfkc:
    case NormalizerStep::Kind::nfkd:
      if (scratch.ascii) return;
      decompose(compatible, scratch);
      if (step.kind == NormalizerStep::Kind::nfc || step.kind == NormalizerStep::Kind::nfkc)
        compose(scratch);
      return apply(scratch);
    case NormalizerStep::Kind::strip_accents:
      if (scratch.ascii) return;
      std::erase_if(scratch.text, [](const SourcedScalar& scalar) {
        return scalar.c >= 0x80 && unicode::text_flags(scalar.c) & unicode::kMark;
      });
      return;
    case NormalizerStep::Kind::lowercase:
      return lowercase(scratch);
    case NormalizerStep::Kind::precompiled:
      if (apply_charsmap(*step.charsmap, scratch)) apply(scratch);
      return;
    case NormalizerStep::Kind::strip:
      return strip(step, scratch.text);
  }
}

}  // namespace

bool TextNormalizer::normalize(std::string_view piece, int32_t first,
                               NormalizerScratch& scratch) const {
  if (!decode(piece, first, scratch)) return false;
  scratch.most = most_of_normalised(piece.size());
  for (const NormalizerStep& step : steps_) {
    if (scratch.text.empty()) break;
    run(step, scratch);
  }
  return true;
}

std::string TextNormalizer::normalized(std::string_view text) const {
  NormalizerScratch scratch;
  normalize(text, 0, scratch);
  std::string out;
  for (const SourcedScalar& scalar : scratch.text) {
    char bytes[4];
    out.append(bytes, utf8::encode(scalar.c, bytes));
  }
  return out;
}

}  // namespace bert::tokenizer
