// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/normalizers.h"

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/text_tables.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

template <class Put>
void for_scalars(std::string_view text, Put&& put) {
  for (size_t at = 0; at < text.size();) put(utf8::decode(text.data(), at));
}

// set(text, edits) sets the edits of a part, and returns how many characters are dropped before the
// first edit.
template <class Set>
void edit_parts(PartedText& text, Set&& set) {
  std::vector<Edit> edits;
  text.rewrite([&](const Part& part) {
    edits.clear();
    const size_t removed = set(text.text(part), edits);
    text.edit(part, edits, removed);
  });
}

template <class Keep>
void keep_only(PartedText& text, Keep&& keep) {
  edit_parts(text, [&](std::string_view in, std::vector<Edit>& edits) {
    size_t first = 0;
    for_scalars(in, [&](char32_t c) {
      if (keep(c)) {
        edits.push_back({c, 0});
      } else if (edits.empty()) {
        ++first;
      } else {
        --edits.back().change;
      }
    });
    return edits.empty() ? 0 : first;
  });
}

template <class Change>
void map_scalars(PartedText& text, Change&& change) {
  edit_parts(text, [&](std::string_view in, std::vector<Edit>& edits) {
    for_scalars(in, [&](char32_t c) { edits.push_back({change(c), 0}); });
    return 0;
  });
}

// A table-driven normalizer of SentencePiece models. set(scratch): false if nothing changes.
template <class Set>
void edit_scalars(PartedText& text, Set&& set) {
  NormalizerScratch scratch;
  text.rewrite([&](const Part& part) {
    scratch.text.clear();
    for_scalars(text.text(part), [&](char32_t c) { scratch.text.push_back({c, 0}); });
    set(scratch) ? text.edit(part, scratch.edits, 0) : text.keep(part);
  });
}

void apply_form(Normalizer::Kind kind, PartedText& text) {
  edit_scalars(text, [&](NormalizerScratch& scratch) {
    decompose(kind == Normalizer::Kind::nfkc || kind == Normalizer::Kind::nfkd, scratch);
    if (kind == Normalizer::Kind::nfc || kind == Normalizer::Kind::nfkc) compose(scratch);
    return true;
  });
}

void lowercase_parts(PartedText& text) {
  edit_parts(text, [](std::string_view in, std::vector<Edit>& edits) {
    for_scalars(in, [&](char32_t c) {
      edits.push_back({unicode::to_lower(c), 0});
      if (c == 0x130) edits.push_back({0x307, 1});
    });
    return 0;
  });
}

void apply_bert(const NormalizerOptions& options, PartedText& text) {
  const auto is = [](char32_t c, int flag) { return (unicode::property(c).flags & flag) != 0; };
  if (options.clean_text) {
    keep_only(text, [&](char32_t c) { return !is(c, unicode::kDropped); });
    map_scalars(text, [&](char32_t c) { return is(c, unicode::kSpace) ? U' ' : c; });
  }
  if (options.handle_chinese_chars) {
    edit_parts(text, [&](std::string_view in, std::vector<Edit>& edits) {
      for_scalars(in, [&](char32_t c) {
        if (!is(c, unicode::kChinese)) return edits.push_back({c, 0});
        edits.insert(edits.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
      });
      return 0;
    });
  }
  if (options.strip_accents) {
    apply_form(Normalizer::Kind::nfd, text);
    keep_only(text, [&](char32_t c) { return !is(c, unicode::kNonspacing); });
  }
  if (options.lowercase) lowercase_parts(text);
}

// SentencePiece's "nmt" rules.
void apply_nmt(PartedText& text) {
  keep_only(text, [](char32_t c) {
    const bool is_control = (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f);
    return !is_control && c != 0x7f && c != 0x8f && c != 0x9f;
  });
  map_scalars(text, [](char32_t c) {
    const bool is_space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 ||
                          (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xfeff || c == 0xfffd;
    return is_space ? U' ' : c;
  });
}

void strip_parts(bool left, bool right, PartedText& text) {
  std::vector<Edit> edits;
  text.rewrite([&](const Part& part) {
    const std::string_view in = text.text(part);
    const size_t begin = left ? space_after(in, 0) : 0;
    const size_t end = right ? space_before(in, begin, in.size()) : in.size();
    if (begin == 0 && end == in.size()) return text.keep(part);
    edits.clear();
    for_scalars(in.substr(begin, end - begin), [&](char32_t c) { edits.push_back({c, 0}); });
    text.edit(part, edits, utf8::count_scalars(in.substr(0, begin)));
  });
}

void replace_parts(const Normalizer& normalizer, PartedText& text) {
  std::vector<Match> matches;
  text.rewrite([&](const Part& part) {
    matches.clear();
    normalizer.pattern->find(text.text(part), matches);
    text.replace(part, matches, normalizer.to);
  });
}

}  // namespace

void spell_bytes(PartedText& text) {
  edit_parts(text, [](std::string_view in, std::vector<Edit>& edits) {
    for (const char byte : in) {
      edits.push_back(
          {byte_characters()[static_cast<uint8_t>(byte)], utf8::is_continuation(byte) ? 1 : 0});
    }
    return 0;
  });
}

void normalize(const Normalizer& normalizer, PartedText& text) {
  switch (normalizer.kind) {
    case Normalizer::Kind::bert:
      return apply_bert(normalizer.bert, text);
    case Normalizer::Kind::byte_level:
      return spell_bytes(text);
    case Normalizer::Kind::lowercase:
      return lowercase_parts(text);
    case Normalizer::Kind::nfc:
    case Normalizer::Kind::nfd:
    case Normalizer::Kind::nfkc:
    case Normalizer::Kind::nfkd:
      return apply_form(normalizer.kind, text);
    case Normalizer::Kind::nmt:
      return apply_nmt(text);
    case Normalizer::Kind::precompiled:
      return edit_scalars(text, [&](NormalizerScratch& scratch) {
        return apply_charsmap(*normalizer.charsmap, scratch);
      });
    case Normalizer::Kind::prepend:
      return text.rewrite([&](const Part& part) { text.prepend(part, normalizer.to); });
    case Normalizer::Kind::replace:
      return replace_parts(normalizer, text);
    case Normalizer::Kind::strip:
      return strip_parts(normalizer.left, normalizer.right, text);
    case Normalizer::Kind::strip_accents:
      return keep_only(text, [](char32_t c) { return !(unicode::text_flags(c) & unicode::kMark); });
  }
}

bool as_step(const Normalizer& normalizer, NormalizerStep& out) {
  using Step = NormalizerStep::Kind;
  const auto scalars = [](std::string_view text) {
    std::u32string all;
    for_scalars(text, [&](char32_t c) { all += c; });
    return all;
  };
  const auto plain = [&](Step kind) { return out = {kind}, true; };
  switch (normalizer.kind) {
    case Normalizer::Kind::lowercase:
      return plain(Step::lowercase);
    case Normalizer::Kind::nfc:
      return plain(Step::nfc);
    case Normalizer::Kind::nfd:
      return plain(Step::nfd);
    case Normalizer::Kind::nfkc:
      return plain(Step::nfkc);
    case Normalizer::Kind::nfkd:
      return plain(Step::nfkd);
    case Normalizer::Kind::strip_accents:
      return plain(Step::strip_accents);
    case Normalizer::Kind::precompiled:
      return plain(Step::precompiled), out.charsmap = normalizer.charsmap, true;
    case Normalizer::Kind::strip:
      return plain(Step::strip), out.left = normalizer.left, out.right = normalizer.right, true;
    case Normalizer::Kind::replace:
      if (normalizer.is_expression ? normalizer.from != " {2,}" : normalizer.from.empty()) {
        return false;
      }
      plain(normalizer.is_expression ? Step::replace_spaces : Step::replace);
      out.from = scalars(normalizer.from);
      out.to = scalars(normalizer.to);
      return true;
    case Normalizer::Kind::bert:
    case Normalizer::Kind::byte_level:
    case Normalizer::Kind::nmt:
    case Normalizer::Kind::prepend:
      return false;
  }
  return false;
}

}  // namespace bert::tokenizer
