// SPDX-License-Identifier: Apache-2.0
//
// The table-driven normalizers: Unicode's normalization forms and SentencePiece's charsmaps.
#include <algorithm>
#include <array>
#include <numeric>

#include "tokenizer/unicode/hangul.h"
#include "tokenizer/unicode/text_tables.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/unigram/text_normalizer.h"

namespace bert::tokenizer {

namespace {

uint8_t rank(char32_t c) { return c < 0x300 ? 0 : unicode::property(c).rank; }

// Puts marks (scalars whose combining class is not 0) in canonical order, from `begin` on.
void sort_marks(std::vector<Edit>& edits, size_t begin) {
  if (edits.size() - begin < 2) return;
  std::stable_sort(edits.begin() + static_cast<ptrdiff_t>(begin), edits.end(),
                   [](const Edit& a, const Edit& b) { return rank(a.c) < rank(b.c); });
}

char32_t compose_hangul(char32_t a, char32_t b) {
  if (a - unicode::kLead < unicode::kLeads && b - unicode::kVowel < unicode::kVowels) {
    return unicode::kHangul +
           ((a - unicode::kLead) * unicode::kVowels + (b - unicode::kVowel)) * unicode::kTrails;
  }
  const bool is_open =
      a - unicode::kHangul < unicode::kSyllables && (a - unicode::kHangul) % unicode::kTrails == 0;
  return is_open && b - unicode::kTrail - 1 < unicode::kTrails - 1 ? a + (b - unicode::kTrail) : 0;
}

// Whether NFC keeps this scalar and does not join it to one before it.
bool stays_composed(char32_t c) {
  constexpr char32_t kFirstMark = 0x300, kVowelLetters = 0x1160, kEndOfTrails = 0x1200;
  if (c < kFirstMark || unicode::is_syllable(c)) return true;
  const unicode::Property property = unicode::property(c);
  if (property.rank != 0 || unicode::text_flags(c) & unicode::kMark) return false;
  if (c >= kVowelLetters && c < kEndOfTrails) return false;
  if (!(property.flags & unicode::kMapped)) return true;
  const std::u32string_view parts = unicode::decomposition(c);
  if (parts.empty()) return true;
  const auto whole =
      std::accumulate(parts.begin() + 1, parts.end(), parts[0], unicode::composition);
  return whole == c;
}

}  // namespace

bool is_composed(std::string_view text) {
  constexpr uint8_t kMarksLead = 0xcc;  // of U+0300 in UTF-8
  const auto is_below = [](char byte) { return static_cast<uint8_t>(byte) < kMarksLead; };
  if (std::ranges::all_of(text, is_below)) return true;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const size_t length = utf8::decode_checked(text, at, c);
    if (length == 0 || !stays_composed(c)) return false;
    at += length;
  }
  return true;
}

void decompose(bool compatible, NormalizerScratch& scratch) {
  std::vector<Edit>& out = scratch.edits;
  out.clear();
  out.reserve(scratch.text.size());
  size_t marks = 0;  // where the trailing marks begin
  const auto put = [&](char32_t c, int32_t change) {
    if (rank(c) == 0) {
      sort_marks(out, marks);
      out.push_back({c, change});
      marks = out.size();
    } else {
      out.push_back({c, change});
    }
  };
  for (const auto& [c, source] : scratch.text) {
    if (c < 0x80) {
      put(c, 0);
    } else if (unicode::is_syllable(c)) {
      const char32_t index = c - unicode::kHangul;
      put(unicode::kLead + index / (unicode::kVowels * unicode::kTrails), 0);
      put(unicode::kVowel + index / unicode::kTrails % unicode::kVowels, 1);
      if (index % unicode::kTrails != 0) put(unicode::kTrail + index % unicode::kTrails, 1);
    } else {
      std::u32string_view parts;
      if (compatible && unicode::text_flags(c) & unicode::kCompatible) {
        parts = unicode::compatible_decomposition(c);
      } else {
        parts = unicode::decomposition(c);
      }
      if (parts.empty()) put(c, 0);
      for (size_t i = 0; i < parts.size(); ++i) put(parts[i], i == 0 ? 0 : 1);
    }
  }
  sort_marks(out, marks);
}

// Unicode 15, section 3.11, D117. A scalar that is composed into an earlier one counts as removed.
void compose(NormalizerScratch& scratch) {
  std::vector<Edit>& edits = scratch.edits;
  constexpr size_t kNone = ~size_t{0};
  size_t starter = kNone, size = 0;
  int last = 0;  // the rank of the previous scalar, or -1 if that is the starter
  for (const Edit& edit : edits) {
    const int own = rank(edit.c);
    char32_t whole = 0;
    if (starter != kNone && last < own) {
      whole = compose_hangul(edits[starter].c, edit.c);
      if (whole == 0) whole = unicode::composition(edits[starter].c, edit.c);
    }
    if (whole != 0) {
      edits[starter].c = whole;
      edits[starter].change += edit.change - 1;
      continue;
    }
    if (own == 0) starter = size;
    last = own == 0 ? -1 : own;
    edits[size++] = edit;
  }
  edits.resize(size);
}

namespace {

// The end of the grapheme that begins at text[at], as far as it matters to a Precompiled
// normalizer. Hangul letters, flags and Indic conjuncts are not joined: they make graphemes of six
// bytes or more, which are replaced scalar by scalar anyway. (Joining them would only matter for a
// mark of two bytes after such a letter, if the charsmap maps the mark by itself.)
size_t grapheme_end(const std::vector<SourcedScalar>& text, size_t at) {
  constexpr char32_t kJoiner = 0x200d;
  char32_t c = text[at++].c;
  if (c < 0x80 && (at == text.size() || text[at].c < 0x80)) {
    return at + (c == '\r' && at < text.size() && text[at].c == '\n');
  }
  uint8_t flags = unicode::text_flags(c);
  bool pictographic = flags & unicode::kPictographic;
  for (; at < text.size() && !(flags & unicode::kControl); ++at) {
    const char32_t next = text[at].c;
    const uint8_t next_flags = unicode::text_flags(next);
    const bool joined = pictographic && c == kJoiner && next_flags & unicode::kPictographic;
    if (next_flags & unicode::kControl) break;
    if (!(next_flags & unicode::kExtends || flags & unicode::kPrepends || joined)) break;
    if (!(next_flags & unicode::kExtends)) pictographic = next_flags & unicode::kPictographic;
    c = next;
    flags = next_flags;
  }
  return at;
}

// Replaces `old` scalars by `fresh`, as edits in Hugging Face's sense: if there are more than
// `old`, the last ones are insertions; if fewer, the last one removes the rest.
void replace_by(std::u32string_view fresh, size_t old, std::vector<Edit>& out) {
  for (const char32_t c : fresh) out.push_back({c, 0});
  if (fresh.size() > old) {
    for (size_t i = 0; i < fresh.size() - old; ++i) out[out.size() - 1 - i].change = 1;
  } else if (fresh.size() < old && !out.empty()) {
    out.back().change -= static_cast<int32_t>(old - fresh.size());
  }
}

bool is_kept(const Charsmap& charsmap, const std::vector<SourcedScalar>& text) {
  return std::all_of(text.begin(), text.end(), [&](const SourcedScalar& scalar) {
    return scalar.c < 0x80 && charsmap.keeps(scalar.c) && scalar.c != '\r';
  });
}

}  // namespace

bool apply_charsmap(const Charsmap& charsmap, NormalizerScratch& scratch) {
  const std::vector<SourcedScalar>& text = scratch.text;
  if (is_kept(charsmap, text)) return false;
  constexpr size_t kMaxGrapheme = 5;  // bytes; longer ones are looked up scalar by scalar
  std::vector<Edit>& out = scratch.edits;
  out.clear();
  out.reserve(text.size());
  std::array<char, 4 * (kMaxGrapheme + 1)> bytes;
  std::u32string_view fresh;
  bool changes = false;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = grapheme_end(text, at);
    if (end - at > 1 && end - at <= kMaxGrapheme) {
      size_t size = 0;
      for (size_t i = at; i < end; ++i) size += utf8::encode(text[i].c, bytes.data() + size);
      if (size <= kMaxGrapheme && charsmap.find({bytes.data(), size}, fresh)) {
        replace_by(fresh, end - at, out);
        changes = true;
        continue;
      }
    }
    for (size_t i = at; i < end; ++i) {
      const char32_t c = text[i].c;
      if (c < 0x80 && charsmap.keeps(c)) {
        out.push_back({c, 0});
      } else if (charsmap.find({bytes.data(), utf8::encode(c, bytes.data())}, fresh)) {
        replace_by(fresh, 1, out);
        changes = true;
      } else {
        out.push_back({c, 0});
      }
    }
  }
  if (!changes) return false;
  scratch.ascii = std::all_of(out.begin(), out.end(), [](const Edit& e) { return e.c < 0x80; });
  return true;
}

}  // namespace bert::tokenizer
