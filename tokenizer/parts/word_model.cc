// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/word_model.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "tokenizer/bytepair/character_tokens.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

// Takes the longest tokens greedily.
class WordPieceModel : public WordModel {
 public:
  WordPieceModel(const Definition& definition, const Vocabulary& vocabulary)
      : trie_(vocabulary.trie()),
        has_continuing_(definition.word_piece.continuing_prefix.empty() ||
                        trie_.start() != DoubleArray::kRoot),
        unknown_(vocabulary, definition.word_piece.unknown, definition.file),
        max_chars_(definition.word_piece.max_chars) {}

  void tokenize(std::string_view word, PieceScratch&, std::vector<WordToken>& out) const override {
    out.clear();
    bool known = utf8::count_scalars(word) <= max_chars_;
    uint32_t node = DoubleArray::kRoot;
    for (size_t at = 0; at < word.size() && known; node = trie_.start()) {
      const DoubleArray::Match match = trie_.longest_prefix(node, word.substr(at));
      known = match.length > 0 && (has_continuing_ || match.length == word.size() - at);
      if (known) out.push_back({match.value, at, at + match.length});
      at += match.length;
    }
    if (!known) out.assign(1, {unknown_.needed_id(), 0, word.size()});
  }

 private:
  const DoubleArray& trie_;
  bool has_continuing_;  // some tokens continue words
  UnknownToken unknown_;
  size_t max_chars_;
};

class WordLevelModel : public WordModel {
 public:
  WordLevelModel(const Definition& definition, const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        unknown_(vocabulary, definition.word_piece.unknown, definition.file) {}

  void tokenize(std::string_view word, PieceScratch&, std::vector<WordToken>& out) const override {
    const int32_t id = vocabulary_.find(word);
    out.assign(1, {id == Vocabulary::kNone ? unknown_.needed_id() : id, 0, word.size()});
  }

 private:
  const Vocabulary& vocabulary_;
  UnknownToken unknown_;
};

class BytePairModel : public WordModel {
 public:
  BytePairModel(const Definition& definition, const Vocabulary& vocabulary)
      : byte_pair_(vocabulary, definition.byte_pair) {
    if (CharacterTokens::suits(vocabulary, byte_pair_)) {
      characters_.emplace(vocabulary, byte_pair_);
    }
  }

  void tokenize(std::string_view word, PieceScratch& scratch,
                std::vector<WordToken>& out) const override {
    std::span<const WordPart> parts;
    if (characters_) {
      parts = by_characters(pad(word, scratch.byte_pair.text), scratch.byte_pair);
    } else {
      byte_pair_.tokenize(word, scratch.byte_pair);
      parts = scratch.byte_pair.parts;
    }
    out.clear();
    size_t at = 0;
    for (const auto& [id, length] : parts) {
      const size_t end = at + static_cast<size_t>(length);
      out.push_back({id, at, end});
      at = end;
    }
  }

 private:
  std::span<const WordPart> by_characters(std::string_view text, BytePairScratch& scratch) const {
    scratch.word.reserve(text.size());
    WordPart* out = scratch.word.data();
    for (size_t at = 0, end = 0; at < text.size(); at = end) {
      end = characters_->word_end(text, at);
      out = characters_->tokenize(text.substr(at, end - at), scratch, out);
    }
    return {scratch.word.data(), out};
  }

  static std::string_view pad(std::string_view word, RawBuffer<char>& buffer) {
    buffer.reserve(word.size() + CharacterTokens::kPadding);
    char* const end = std::ranges::copy(word, buffer.data()).out;
    std::fill_n(end, CharacterTokens::kPadding, '\0');
    return {buffer.data(), word.size()};
  }

  BytePair byte_pair_;
  std::optional<CharacterTokens> characters_;  // if they suit the vocabulary
};

class UnigramModel : public WordModel {
 public:
  UnigramModel(const Definition& definition, const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        unknown_(definition.unigram.unknown),
        unigram_(vocabulary, definition.unigram.scores, unknown_) {
    for (int byte = 0; definition.unigram.byte_fallback && byte < 256; ++byte) {
      bytes_.push_back(vocabulary.find(fmt::format("<0x{:02X}>", byte)));
    }
  }

  void tokenize(std::string_view word, PieceScratch& scratch,
                std::vector<WordToken>& out) const override {
    UnigramScratch& own = scratch.unigram;
    own.bytes.reserve(word.size());
    own.sources.reserve(word.size());
    std::copy(word.begin(), word.end(), own.bytes.data());
    std::iota(own.sources.data(), own.sources.data() + word.size(), 0);
    TokenSequence tokens;
    unigram_.tokenize(word.size(), own, tokens);
    out.clear();
    for (size_t i = 0; i < tokens.size; ++i) {
      const auto begin = static_cast<size_t>(tokens.offsets[i].begin);
      push(tokens.ids[i], word, begin, static_cast<size_t>(tokens.offsets[i].end), out);
    }
  }

 private:
  void push(int32_t id, std::string_view word, size_t begin, size_t end,
            std::vector<WordToken>& out) const {
    const std::string_view piece = word.substr(begin, end - begin);
    if (id != unknown_ || vocabulary_.find(piece) != Vocabulary::kNone) {
      return out.push_back({id, begin, end});
    }
    const auto token = [&](char byte) { return bytes_[static_cast<uint8_t>(byte)]; };
    const auto is_missing = [&](char byte) { return token(byte) == Vocabulary::kNone; };
    if (!bytes_.empty() && std::ranges::none_of(piece, is_missing)) {
      for (const char byte : piece) out.push_back({token(byte), begin, end});
      return;
    }
    out.push_back({id, begin, end, true});
  }

  const Vocabulary& vocabulary_;
  int32_t unknown_;
  Unigram unigram_;
  std::vector<int32_t> bytes_;  // the tokens "<0x00>" to "<0xFF>"; empty without byte_fallback
};

}  // namespace

std::unique_ptr<const WordModel> make_word_model(const Definition& definition,
                                                 const Vocabulary& vocabulary) {
  switch (definition.model) {
    case Definition::Model::word_piece:
      return std::make_unique<WordPieceModel>(definition, vocabulary);
    case Definition::Model::word_level:
      return std::make_unique<WordLevelModel>(definition, vocabulary);
    case Definition::Model::unigram:
      return std::make_unique<UnigramModel>(definition, vocabulary);
    case Definition::Model::byte_pair:
      return std::make_unique<BytePairModel>(definition, vocabulary);
  }
  return nullptr;
}

}  // namespace bert::tokenizer
