// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece/word_piece.h"

#include <bit>

#include "tokenizer/token_sequence.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

WordPiece::WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options,
                     const std::string& file)
    : trie_(vocabulary.trie()),
      words_(vocabulary.words()),
      has_continuing_(options.continuing_prefix.empty() || trie_.start() != DoubleArray::kRoot),
      unknown_(vocabulary, options.unknown, file),
      max_chars_(options.max_chars) {}

void WordPiece::tokenize(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                         TokenSequence& out) const {
  out.reserve(end - begin);
  const char* const bytes = text.text().data();
  size_t word = begin;
  for (size_t block = begin / 64; block * 64 < end && out.complete; ++block) {
    uint64_t breaks = text.breaks()[block];
    if (block == begin / 64) breaks &= ~uint64_t{0} << begin % 64;
    for (; breaks != 0; breaks &= breaks - 1) {
      const size_t here = block * 64 + static_cast<size_t>(std::countr_zero(breaks));
      if (here >= end) break;
      if (here > word) tokenize_word(text, word, here, limit, out);
      word = here + 1;
      if (bytes[here] == ' ') continue;
      word = here;
      const char32_t c = utf8::decode(bytes, word);
      if (!unicode::is_space(c)) {
        tokenize_word(text, here, word, limit, out);
      }
    }
  }
  if (word < end) tokenize_word(text, word, end, limit, out);
}

void WordPiece::tokenize_word(const NormalizedText& text, size_t begin, size_t end, size_t limit,
                              TokenSequence& out) const {
  if (!out.begin_word()) return;
  const std::string_view bytes = text.text();
  if (end - begin <= WordTable::kMaxSize && end - begin <= max_chars_) {
    const int32_t id = words_.find(ShortWord::padded(bytes.data() + begin, end - begin));
    if (id != WordTable::kNone) {
      out.push(id, text.source(begin), text.source(end - 1) + 1);
      out.full = out.size >= limit;
      return;
    }
  }
  const size_t before = out.size;
  bool known = end - begin <= max_chars_ ||
               utf8::count_scalars(bytes.substr(begin, end - begin)) <= max_chars_;
  uint32_t node = DoubleArray::kRoot;
  for (size_t at = begin; at < end && known; node = trie_.start()) {
    const DoubleArray::Match match = trie_.longest_prefix(node, bytes.substr(at, end - at));
    known = match.length > 0 && (has_continuing_ || match.length == end - at);
    if (!known) break;
    out.push(match.value, text.source(at), text.source(at + match.length - 1) + 1);
    at += match.length;
  }
  if (!known) {
    out.size = before;
    out.push(unknown_.needed_id(), text.source(begin), text.source(end - 1) + 1);
  }
  out.full = out.size >= limit;
}

}  // namespace bert::tokenizer
