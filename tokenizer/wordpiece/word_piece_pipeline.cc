// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tokenizer/files/definition.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/wordpiece/word_piece.h"

namespace bert::tokenizer {

namespace {

// A long text is normalised in chunks of about this many bytes, to stay in the nearest caches. A
// chunk ends before a space, where words and sequences of marks also end.
constexpr size_t kChunk = 8192;

class WordPiecePipeline : public Pipeline {
 public:
  WordPiecePipeline(const Definition& definition, const Vocabulary& vocabulary)
      : normalizer_(definition.normalizer),
        word_piece_(vocabulary, definition.word_piece, definition.file),
        prefix_(definition.word_piece.continuing_prefix) {}

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& tokens,
              PieceScratch& scratch, TokenSequence& out) const override {
    NormalizedText& text = scratch.normalized;
    if (tokens.empty()) {
      for (size_t size = 0; !piece.empty() && out.complete; piece.remove_prefix(size)) {
        size = std::min(piece.find(' ', kChunk), piece.size());
        if (!normalizer_.normalize(piece.substr(0, size), first, text)) return false;
        word_piece_.tokenize(text, 0, text.text().size(), limit, out);
        if (size < piece.size()) {
          first += static_cast<int32_t>(utf8::count_scalars(piece.substr(0, size)));
        }
      }
      return true;
    }
    if (!normalizer_.normalize(piece, first, text)) return false;
    tokens.split(text.text(), scratch.pieces);
    for (const auto& [id, begin, end] : scratch.pieces) {
      if (id == AddedTokenMatcher::kText) {
        word_piece_.tokenize(text, begin, end, limit, out);
      } else {
        out.push_added(id, text.source(begin), text.source(end - 1) + 1,
                       text.text().substr(begin, end - begin));
      }
    }
    return true;
  }

  std::string normalized(std::string_view text) const override {
    NormalizedText out;
    normalizer_.normalize(text, 0, out);
    return std::string(out.text());
  }

  bool continues_word(std::string_view piece) const override {
    return !prefix_.empty() && piece.starts_with(prefix_);
  }
  int32_t unknown() const override { return word_piece_.unknown(); }

 private:
  BertNormalizer normalizer_;
  WordPiece word_piece_;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<const Pipeline> make_word_piece_pipeline(const Definition& definition,
                                                         const Vocabulary& vocabulary) {
  return std::make_unique<WordPiecePipeline>(definition, vocabulary);
}

}  // namespace bert::tokenizer
