// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/word_piece.h"

#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/token_sequence.h"
#include "tokenizer/unicode_tables.h"
#include "tokenizer/utf8.h"

namespace bert::tokenizer {

WordPiece::WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options)
    : trie_(vocabulary.trie()),
      has_continuing_(trie_.walk(continuing_, options.continuing_prefix)),
      unknown_(vocabulary.find(options.unknown)),
      max_chars_(options.max_chars) {
  if (unknown_ == Vocabulary::kNone) {
    throw std::runtime_error(
        fmt::format("the unknown token \"{}\" is not in the vocabulary", options.unknown));
  }
}

bool WordPiece::tokenize(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                         TokenSequence& out) const {
  const char* const bytes = text.text().data();
  size_t word = begin;
  for (size_t at = begin; at < end;) {
    const size_t here = at;
    const uint8_t flags = unicode::property(utf8::decode(bytes, at)).flags;
    if ((flags & (unicode::kSpace | unicode::kPunctuation)) == 0) continue;
    if (here > word) {
      tokenize_word(text, word, here, out);
      if (out.ids.size() >= limit) return here == end;
    }
    word = at;
    if (flags & unicode::kPunctuation) {
      tokenize_word(text, here, at, out);
      if (out.ids.size() >= limit) return at == end;
    }
  }
  if (word < end) tokenize_word(text, word, end, out);
  return true;
}

void WordPiece::tokenize_word(const NormalizedText& text, size_t begin, size_t end,
                              TokenSequence& out) const {
  const std::string_view bytes = text.text();
  const size_t before = out.ids.size();
  const bool fits = end - begin <= max_chars_ ||
                    utf8::count_scalars(bytes.substr(begin, end - begin)) <= max_chars_;
  uint32_t node = DoubleArray::kRoot;
  for (size_t at = begin; at < end;) {
    DoubleArray::Match match;
    if (fits && (at == begin || has_continuing_)) {
      match = trie_.longest_prefix(node, bytes.substr(at, end - at));
    }
    if (match.length == 0) {
      out.ids.resize(before);
      out.offsets.resize(before);
      return out.push(unknown_, text.source(begin), text.source(end - 1) + 1);
    }
    out.push(match.value, text.source(at), text.source(at + match.length - 1) + 1);
    at += match.length;
    node = continuing_;
  }
}

}  // namespace bert::tokenizer
