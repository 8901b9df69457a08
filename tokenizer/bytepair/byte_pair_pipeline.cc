// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <span>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/bytepair/byte_tokens.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/scalar_counter.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr std::string_view kSpaceCharacter = "\u0120";

class ByteLevelPipeline : public Pipeline {
 public:
  ByteLevelPipeline(const Definition& definition, const Vocabulary& vocabulary)
      : normalizer_(definition.steps),
        is_nfc_(definition.steps.size() == 1 &&
                definition.steps[0].kind == NormalizerStep::Kind::nfc),
        normalizes_(!definition.steps.empty()),
        options_(definition.byte_level),
        byte_pair_(vocabulary, definition.byte_pair) {
    const bool has_affixes =
        !definition.byte_pair.prefix.empty() || !definition.byte_pair.suffix.empty();
    if (has_affixes || !ByteTokens::suits(vocabulary)) return;
    tokens_.emplace(vocabulary, byte_pair_, definition.byte_pair.ignore_merges);
  }

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& added,
              PieceScratch& scratch, TokenSequence& out) const override {
    const Run run{*this, limit, scratch.byte_pair, out};
    if (!normalizes_ || (is_nfc_ && is_composed(piece))) {
      if (added.empty()) return run.words(piece, first, nullptr);
      if (added.looks_around() && utf8::first_invalid(piece) != std::string_view::npos)
        return false;
      return run.split(added, piece, first, nullptr, scratch.pieces);
    }
    NormalizerScratch& normalized = scratch.unigram.normalizer;
    if (!normalizer_.normalize(piece, first, normalized)) return false;
    std::string bytes;
    std::vector<int32_t> sources;
    for (const auto& [c, source] : normalized.text) {
      char encoded[4];
      bytes.append(encoded, utf8::encode(c, encoded));
      sources.resize(bytes.size(), source);
    }
    return run.split(added, bytes, first, sources.data(), scratch.pieces);
  }

  std::string normalized(std::string_view text) const override {
    return normalizer_.normalized(text);
  }
  bool continues_word(std::string_view piece) const override {
    return !piece.starts_with(kSpaceCharacter);
  }
  int32_t unknown() const override { return byte_pair_.unknown(); }

 private:
  // Tokenises one piece. sources: for each byte of the normalised text; null if that is the
  // original text, whose scalars are then counted from `first` on.
  struct Run {
    const ByteLevelPipeline& pipeline;
    size_t limit;
    BytePairScratch& scratch;
    TokenSequence& out;

    bool split(const AddedTokenMatcher& added, std::string_view text, int32_t first,
               const int32_t* sources, std::vector<AddedTokenMatcher::Piece>& pieces) const {
      added.split(text, pieces);
      ScalarCounter scalars(text, first);
      for (const auto& [id, begin, end] : pieces) {
        const std::string_view part = text.substr(begin, end - begin);
        const bool is_text = id == AddedTokenMatcher::kText;
        if (sources != nullptr) {
          if (!is_text) out.push_added(id, sources[begin], sources[end - 1] + 1, part);
          if (is_text && !words(part, first, sources + begin)) return false;
        } else {
          const int32_t scalar = scalars.at(begin);
          if (!is_text) out.push_added(id, scalar, scalars.at(end), part);
          if (is_text && !words(part, scalar, nullptr)) return false;
        }
      }
      return true;
    }

    bool words(std::string_view text, int32_t first, const int32_t* sources) const {
      if (text.empty()) return true;
      const bool is_prefixed = pipeline.options_.add_prefix_space && text[0] != ' ';
      const size_t size = text.size() + (is_prefixed ? 1 : 0);
      scratch.text.reserve(size + ByteTokens::kPadding);
      char* const bytes = scratch.text.data();
      bytes[0] = ' ';
      std::copy(text.begin(), text.end(), bytes + (is_prefixed ? 1 : 0));
      std::fill_n(bytes + size, ByteTokens::kPadding, '\0');
      out.reserve(2 * size);  // byte_fallback may spell a byte's character in two tokens
      Word word{sources, is_prefixed, first, 0, 0, first - (is_prefixed ? 1 : 0), 0};
      const std::string_view all(bytes, size);
      for (; word.begin < size; word.begin = word.end, word.scalar += word.scalars) {
        const BytePiece piece = next_piece(all, word.begin);
        if (piece.end == word.begin) return false;
        if (!out.begin_word()) return true;
        word.end = piece.end;
        word.scalars = piece.scalars;
        pipeline.tokens_ ? take(bytes, word) : spell(bytes, word);
        out.full = out.size >= limit;
      }
      return true;
    }

    BytePiece next_piece(std::string_view text, size_t at) const {
      const ByteLevelOptions& options = pipeline.options_;
      if (options.use_regex) return next_byte_piece(text, at, options.single_digits);
      if (options.split_digits > 0) return next_split_piece(text, at, options.split_digits);
      if (utf8::first_invalid(text) != std::string_view::npos) return {at, 0};
      return {text.size(), static_cast<int32_t>(utf8::count_scalars(text))};
    }

    // A piece of the text, and where it comes from.
    struct Word {
      const int32_t* sources;
      bool is_prefixed;
      int32_t first;  // scalar of the text, not counting the prefix
      size_t begin, end;
      int32_t scalar, scalars;  // its first scalar, and how many

      int32_t source(size_t byte) const {
        const size_t shift = is_prefixed ? 1 : 0;
        return sources[byte < shift ? 0 : byte - shift];
      }
    };

    void take(const char* bytes, const Word& word) const {
      const size_t size = word.end - word.begin;
      const int32_t id = pipeline.tokens_->find(bytes + word.begin, size);
      if (id != Vocabulary::kNone && word.sources == nullptr) {
        return push(word, id, word.scalar, word.scalar + word.scalars);
      }
      const WordPart whole{id, static_cast<int32_t>(size)};
      const std::span<const WordPart> parts =
          id != Vocabulary::kNone ? std::span(&whole, 1)
                                  : pipeline.tokens_->merge({bytes + word.begin, size}, scratch);
      size_t at = word.begin;
      int32_t scalar = word.scalar;  // past the last byte counted
      for (const WordPart& part : parts) {
        const size_t end = at + static_cast<size_t>(part.length);
        if (word.sources != nullptr) {
          out.push(part.id, word.source(at), word.source(end - 1) + 1);
        } else {
          const int32_t begin = utf8::is_continuation(bytes[at]) ? scalar - 1 : scalar;
          scalar += pipeline.tokens_->scalars().of(part, bytes + at);
          push(word, part.id, begin, scalar);
        }
        at = end;
      }
    }

    // For vocabularies that do not suit ByteTokens: by the bytes' characters.
    void spell(const char* bytes, const Word& word) const {
      std::string spelling;
      std::vector<int32_t> places;  // the scalars that its bytes come from
      int32_t scalar = word.scalar - 1;
      for (size_t i = word.begin; i < word.end; ++i) {
        char character[4];
        const char16_t c = byte_characters()[static_cast<uint8_t>(bytes[i])];
        spelling.append(character, utf8::encode(c, character));
        scalar += utf8::is_continuation(bytes[i]) ? 0 : 1;
        places.resize(spelling.size(), word.sources == nullptr ? scalar : word.source(i));
      }
      pipeline.byte_pair_.tokenize(spelling, scratch);
      size_t at = 0;
      for (const auto& [id, length] : scratch.parts) {
        const size_t end = at + static_cast<size_t>(length);
        const int32_t first = places[at], last = places[end - 1];
        word.sources == nullptr ? push(word, id, first, last + 1) : out.push(id, first, last + 1);
        at = end;
      }
    }

    // The prefix is attributed to the scalar that it precedes.
    void push(const Word& word, int32_t id, int32_t begin, int32_t end) const {
      out.push(id, std::max(begin, word.first), std::max(end, word.first + 1));
    }
  };

  TextNormalizer normalizer_;
  bool is_nfc_, normalizes_;
  ByteLevelOptions options_;
  BytePair byte_pair_;
  std::optional<ByteTokens> tokens_;  // if the vocabulary suits them
};

}  // namespace

std::unique_ptr<const Pipeline> make_byte_level_pipeline(const Definition& definition,
                                                         const Vocabulary& vocabulary) {
  return std::make_unique<ByteLevelPipeline>(definition, vocabulary);
}

}  // namespace bert::tokenizer
