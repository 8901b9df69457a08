// SPDX-License-Identifier: Apache-2.0
//
// BPE with byte fallback over a whole text as one word, in which another character has replaced
// spaces: the tokenizer of Gemma, and of mmBERT.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "tokenizer/bytepair/character_tokens.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/scalar_counter.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

class CharacterPipeline : public Pipeline {
 public:
  CharacterPipeline(const Definition& definition, const Vocabulary& vocabulary,
                    std::unique_ptr<BytePair> byte_pair)
      : byte_pair_(std::move(byte_pair)),
        mark_(definition.space_mark),
        tokens_(vocabulary, *byte_pair_, mark_) {}

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& added,
              PieceScratch& scratch, TokenSequence& out) const override {
    if (added.empty()) return take(piece, first, limit, scratch.byte_pair, out);
    if (utf8::first_invalid(piece) != std::string_view::npos) return false;
    const std::string text = normalized(piece);
    added.split(text, scratch.pieces);
    ScalarCounter scalars(text, first);
    for (const auto& [id, begin, end] : scratch.pieces) {
      const std::string_view part = std::string_view(text).substr(begin, end - begin);
      const int32_t scalar = scalars.at(begin);
      if (id == AddedTokenMatcher::kText) {
        take(part, scalar, limit, scratch.byte_pair, out);
      } else {
        out.push_added(id, scalar, scalars.at(end), part);
      }
    }
    return true;
  }

  std::string normalized(std::string_view text) const override {
    std::string out;
    for (const char byte : text) byte == ' ' ? out.append(mark_) : out.append(1, byte);
    return out;
  }
  bool continues_word(std::string_view piece) const override { return !piece.starts_with(mark_); }
  int32_t unknown() const override { return byte_pair_->unknown(); }

 private:
  // A copy of the text, padded. To the vocabulary, a space and its mark are the same: the copy has
  // spaces, which are shorter.
  std::string_view pad(std::string_view text, RawBuffer<char>& buffer) const {
    buffer.reserve(text.size() + CharacterTokens::kPadding);
    char* out = buffer.data();
    while (true) {
      const size_t mark = text.find(mark_);
      out = std::ranges::copy(text.substr(0, mark), out).out;
      if (mark == std::string_view::npos) break;
      *out++ = ' ';
      text.remove_prefix(mark + mark_.size());
    }
    std::fill_n(out, CharacterTokens::kPadding, '\0');
    return {buffer.data(), out};
  }

  // Appends the tokens of a text that begins at scalar `scalar`. All of them, even past the limit,
  // as the text is one word: how a pair is truncated depends on their number. False if it is not
  // well-formed UTF-8.
  bool take(std::string_view piece, int32_t scalar, size_t limit, BytePairScratch& scratch,
            TokenSequence& out) const {
    if (piece.empty() || !out.begin_word()) return true;
    const std::string_view text = pad(piece, scratch.text);
    out.reserve(text.size());
    scratch.word.reserve(text.size());
    WordPart* const begin = scratch.word.data();
    for (size_t at = 0, end = 0; at < text.size(); at = end) {
      end = tokens_.word_end(text, at);
      const WordPart* const tokens = tokens_.tokenize(text.substr(at, end - at), scratch, begin);
      if (tokens == nullptr) return false;
      scalar = push({begin, tokens}, text.data() + at, scalar, out);
    }
    out.full = out.size >= limit;
    return true;
  }

  // The tokens of a character's bytes all stand for that character. Returns the scalar after them.
  int32_t push(std::span<const WordPart> tokens, const char* bytes, int32_t scalar,
               TokenSequence& out) const {
    for (const WordPart& token : tokens) {
      const int32_t count = tokens_.scalars().of(token, bytes);
      out.push(token.id, count > 0 ? scalar : scalar - 1, scalar + count);
      scalar += count;
      bytes += token.length;
    }
    return scalar;
  }

  std::unique_ptr<BytePair> byte_pair_;
  std::string mark_;
  CharacterTokens tokens_;
};

}  // namespace

std::unique_ptr<const Pipeline> make_character_pipeline(const Definition& definition,
                                                        const Vocabulary& vocabulary) {
  const std::string& mark = definition.space_mark;
  if (mark.empty() || vocabulary.find(mark) == Vocabulary::kNone) return nullptr;
  auto byte_pair = std::make_unique<BytePair>(vocabulary, definition.byte_pair);
  if (!CharacterTokens::suits(vocabulary, *byte_pair)) return nullptr;
  return std::make_unique<CharacterPipeline>(definition, vocabulary, std::move(byte_pair));
}

}  // namespace bert::tokenizer
