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
                    std::unique_ptr<const BytePair> byte_pair)
      : byte_pair_(std::move(byte_pair)),
        tokens_(vocabulary, *byte_pair_),
        mark_(definition.space_mark) {}

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& added,
              PieceScratch& scratch, TokenSequence& out) const override {
    if (utf8::first_invalid(piece) != std::string_view::npos) return false;
    const std::string_view text = mark_spaces(piece, scratch.byte_pair.text);
    if (added.empty()) {
      take(text, first, limit, scratch.byte_pair, out);
      return true;
    }
    added.split(text, scratch.pieces);
    ScalarCounter scalars(text, first);
    for (const auto& [id, begin, end] : scratch.pieces) {
      const std::string_view part = text.substr(begin, end - begin);
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
    RawBuffer<char> buffer;
    return std::string(mark_spaces(text, buffer));
  }
  bool continues_word(std::string_view piece) const override { return !piece.starts_with(mark_); }
  int32_t unknown() const override { return byte_pair_->unknown(); }

 private:
  // The text with its spaces replaced, and every other scalar kept.
  std::string_view mark_spaces(std::string_view text, RawBuffer<char>& buffer) const {
    const auto spaces = static_cast<size_t>(std::ranges::count(text, ' '));
    buffer.reserve(text.size() + spaces * (mark_.size() - 1) + CharacterTokens::kPadding);
    char* out = buffer.data();
    for (const char byte : text) {
      if (byte == ' ') {
        out = std::ranges::copy(mark_, out).out;
      } else {
        *out++ = byte;
      }
    }
    std::fill_n(out, CharacterTokens::kPadding, '\0');
    return {buffer.data(), out};
  }

  // Appends the tokens of a text that begins at scalar `scalar`. All of them, even past the limit,
  // as the text is one word: how a pair is truncated depends on their number.
  void take(std::string_view text, int32_t scalar, size_t limit, BytePairScratch& scratch,
            TokenSequence& out) const {
    if (text.empty() || !out.begin_word()) return;
    out.reserve(text.size());
    scratch.word.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      const CharacterTokens::Part part = tokens_.next_part(text, at);
      const WordPart* const begin = scratch.word.data();
      const WordPart* const end =
          tokens_.tokenize_part(text.substr(at, part.end - at), scratch, scratch.word.data());
      if (end - begin == 1) {
        out.push(begin->id, scalar, scalar + part.scalars);
        scalar += part.scalars;
      } else {
        scalar = push({begin, end}, text.data() + at, scalar, out);
      }
      at = part.end;
    }
    out.full = out.size >= limit;
  }

  // The tokens of a character's bytes all stand for that character. Returns the scalar after them.
  static int32_t push(std::span<const WordPart> tokens, const char* bytes, int32_t scalar,
                      TokenSequence& out) {
    for (const auto& [id, length] : tokens) {
      const int32_t begin = utf8::is_continuation(*bytes) ? scalar - 1 : scalar;
      for (const char* const end = bytes + length; bytes < end; ++bytes) {
        scalar += utf8::is_continuation(*bytes) ? 0 : 1;
      }
      out.push(id, begin, scalar);
    }
    return scalar;
  }

  std::unique_ptr<const BytePair> byte_pair_;
  CharacterTokens tokens_;
  std::string mark_;
};

}  // namespace

std::unique_ptr<const Pipeline> make_character_pipeline(const Definition& definition,
                                                        const Vocabulary& vocabulary) {
  if (definition.space_mark.empty()) return nullptr;
  auto byte_pair = std::make_unique<const BytePair>(vocabulary, definition.byte_pair);
  if (!CharacterTokens::suits(vocabulary, *byte_pair)) return nullptr;
  return std::make_unique<CharacterPipeline>(definition, vocabulary, std::move(byte_pair));
}

}  // namespace bert::tokenizer
