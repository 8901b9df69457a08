// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/pre_tokenizers.h"

#include <string>

#include "tokenizer/mecab/word_lattice.h"
#include "tokenizer/parts/normalizers.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

using Matches = std::vector<Match>;

bool has_flag(char32_t c, int flag) { return (unicode::property(c).flags & flag) != 0; }

void cut_at(int flag, Delimiter delimiter, PartedText& text) {
  text.cut(delimiter, [&](std::string_view part, Matches& out) {
    find_scalars(
        part, [&](char32_t c) { return has_flag(c, flag); }, out);
  });
}

// Cuts into runs of word characters, and of what is neither those nor white space.
void cut_words(PartedText& text) {
  enum { kWordBlank, kWordRun, kOtherRun };
  const auto kind = [](char32_t c) {
    if (has_flag(c, unicode::kWord)) return kWordRun;
    return has_flag(c, unicode::kSpace) ? kWordBlank : kOtherRun;
  };
  text.cut(Delimiter::removed, [&](std::string_view part, Matches& out) {
    int last = -1;
    for (size_t at = 0; at < part.size();) {
      const size_t begin = at;
      const int found = kind(utf8::decode(part.data(), at));
      if (found == last) {
        out.back().end = at;
      } else {
        out.push_back({begin, at, found == kWordBlank});
      }
      last = found;
    }
  });
}

void cut_lengths(size_t length, PartedText& text) {
  text.cut(Delimiter::isolated, [&](std::string_view part, Matches& out) {
    for (size_t at = 0; at < part.size();) {
      const size_t begin = at;
      for (size_t i = 0; i < length && at < part.size(); ++i) utf8::decode(part.data(), at);
      out.push_back({begin, at, true});
    }
  });
}

void cut_mecab_words(const MecabDictionary& dictionary, PartedText& text) {
  WordLattice lattice(dictionary);
  text.cut(Delimiter::removed, [&](std::string_view part, Matches& out) {
    size_t at = 0;
    for (const auto& [begin, end] : lattice.words(part)) {
      out.push_back({at, begin, true});
      out.push_back({begin, end, false});
      at = end;
    }
    out.push_back({at, part.size(), true});
  });
}

void prepend_to_parts(std::string_view prefix, PreTokenizer::Prepend where, bool at_begin,
                      PartedText& text) {
  if (where == PreTokenizer::Prepend::never) return;
  const bool everywhere = where == PreTokenizer::Prepend::always;
  text.rewrite([&](const Part& part) {
    const bool wanted = everywhere || (at_begin && part.origin.begin == 0);
    if (!wanted || text.text(part).starts_with(prefix)) return text.keep(part);
    text.prepend(part, prefix);
  });
}

void apply_metaspace(const PreTokenizer& metaspace, bool at_begin, PartedText& text) {
  char bytes[4];
  const std::string meta(bytes, utf8::encode(metaspace.scalar, bytes));
  Matches matches;
  text.rewrite([&](const Part& part) {
    matches.clear();
    find_scalars(
        text.text(part), [](char32_t c) { return c == U' '; }, matches);
    text.replace(part, matches, meta);
  });
  prepend_to_parts(meta, metaspace.prepend, at_begin, text);
  if (!metaspace.splits) return;
  text.cut(Delimiter::merged_with_next, [&](std::string_view part, Matches& out) {
    find_scalars(
        part, [&](char32_t c) { return c == metaspace.scalar; }, out);
  });
}

void apply_byte_level(const PreTokenizer& byte_level, PartedText& text) {
  static const Pattern* const expression = make_byte_level_pattern().release();
  prepend_to_parts(" ", byte_level.prepend, false, text);
  if (byte_level.splits) {
    text.cut(Delimiter::isolated,
             [&](std::string_view part, Matches& out) { expression->find(part, out); });
  }
  spell_bytes(text);
}

void cut_at_pattern(const PreTokenizer& split, PartedText& text) {
  text.cut(split.behavior, [&](std::string_view part, Matches& out) {
    split.pattern->find(part, out);
    if (!split.inverted) return;
    for (Match& match : out) match.is_match = !match.is_match;
  });
}

}  // namespace

void pre_tokenize(const PreTokenizer& part, bool at_begin, PartedText& text) {
  switch (part.kind) {
    case PreTokenizer::Kind::bert:
      cut_at(unicode::kSpace, Delimiter::removed, text);
      return cut_at(unicode::kPunctuation, Delimiter::isolated, text);
    case PreTokenizer::Kind::byte_level:
      return apply_byte_level(part, text);
    case PreTokenizer::Kind::delimiter:
      return text.cut(Delimiter::removed, [&](std::string_view in, Matches& out) {
        find_scalars(
            in, [&](char32_t c) { return c == part.scalar; }, out);
      });
    case PreTokenizer::Kind::digits:
      return cut_at(unicode::kNumeric,
                    part.individual ? Delimiter::isolated : Delimiter::contiguous, text);
    case PreTokenizer::Kind::fixed_length:
      return cut_lengths(part.length, text);
    case PreTokenizer::Kind::mecab:
      return cut_mecab_words(*part.dictionary, text);
    case PreTokenizer::Kind::metaspace:
      return apply_metaspace(part, at_begin, text);
    case PreTokenizer::Kind::punctuation:
      return cut_at(unicode::kPunctuation, part.behavior, text);
    case PreTokenizer::Kind::split:
      return cut_at_pattern(part, text);
    case PreTokenizer::Kind::whitespace:
      return cut_words(text);
    case PreTokenizer::Kind::whitespace_split:
      return cut_at(unicode::kSpace, Delimiter::removed, text);
  }
}

}  // namespace bert::tokenizer
