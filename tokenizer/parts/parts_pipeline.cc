// SPDX-License-Identifier: Apache-2.0
//
// Runs any tokenizer.json component by component. Meant to be exact, not fast: definitions that
// many models share have faster pipelines of their own.
#include <algorithm>
#include <string>
#include <vector>

#include "tokenizer/files/definition.h"
#include "tokenizer/parts/normalizers.h"
#include "tokenizer/parts/parted_text.h"
#include "tokenizer/parts/pre_tokenizers.h"
#include "tokenizer/parts/word_model.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/scalar_counter.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

// What the tokens that begin words start with, or else those inside words.
struct WordMark {
  std::string text;
  bool begins_words = false;
};

WordMark find_word_mark(const Definition& definition) {
  for (const PreTokenizer& part : definition.pre_tokenizers) {
    if (part.kind == PreTokenizer::Kind::byte_level) return {"\u0120", true};
    if (part.kind != PreTokenizer::Kind::metaspace) continue;
    char bytes[4];
    return {std::string(bytes, utf8::encode(part.scalar, bytes)), true};
  }
  for (const Normalizer& part : definition.normalizers) {
    const bool marks_spaces = part.kind == Normalizer::Kind::replace && part.from == " ";
    if (marks_spaces && !part.to.empty()) return {part.to, true};
    if (part.kind == Normalizer::Kind::byte_level) return {"\u0120", true};
  }
  if (definition.model == Definition::Model::byte_pair) return {definition.byte_pair.prefix};
  if (definition.model == Definition::Model::word_piece) {
    return {definition.word_piece.continuing_prefix};
  }
  return {};
}

class PartsPipeline : public Pipeline {
 public:
  PartsPipeline(const Definition& definition, const Vocabulary& vocabulary)
      : normalizers_(definition.normalizers),
        pre_tokenizers_(definition.pre_tokenizers),
        model_(make_word_model(definition, vocabulary)),
        mark_(find_word_mark(definition)),
        unknown_(definition.model == Definition::Model::unigram
                     ? definition.unigram.unknown
                     : vocabulary.find(definition.word_piece.unknown)) {}

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& tokens,
              PieceScratch& scratch, TokenSequence& out) const override {
    if (utf8::first_invalid(piece) != std::string_view::npos) return false;
    PartedText& text = scratch.parted;
    text.assign(piece);
    for (const Normalizer& normalizer : normalizers_) normalize(normalizer, text);
    text.cut_added(tokens);
    for (const PreTokenizer& part : pre_tokenizers_) pre_tokenize(part, first == 0, text);
    ScalarCounter begins(piece, first), ends(piece, first);
    const auto push = [&](const Part& part, const WordToken& token) {
      const auto [begin, end] = text.source(part, token.begin, token.end);
      out.push(token.id, begins.at(begin), ends.at(end));
    };
    std::vector<WordToken> word;
    for (const Part& part : text.parts()) {
      const std::string_view bytes = text.text(part);
      if (!part.is_text()) {
        const auto [begin, end] = text.source(part, 0, bytes.size());
        out.push_added(part.id, begins.at(begin), ends.at(end), bytes);
        continue;
      }
      if (!out.begin_word()) return true;
      model_->tokenize(bytes, scratch, word);
      out.reserve(word.size());
      for (const WordToken& token : word) {
        if (token.spelled)
          out.notes.spell(out.size, bytes.substr(token.begin, token.end - token.begin));
        push(part, token);
      }
      out.full = out.size >= limit;
    }
    return true;
  }

  std::string normalized(std::string_view original) const override {
    PartedText text;
    text.assign(original);
    for (const Normalizer& normalizer : normalizers_) normalize(normalizer, text);
    return text.parts().empty() ? "" : std::string(text.text(text.parts()[0]));
  }

  bool continues_word(std::string_view piece) const override {
    if (mark_.text.empty()) return false;
    return piece.starts_with(mark_.text) != mark_.begins_words;
  }
  int32_t unknown() const override { return unknown_; }

 private:
  std::vector<Normalizer> normalizers_;
  std::vector<PreTokenizer> pre_tokenizers_;
  std::unique_ptr<const WordModel> model_;
  WordMark mark_;
  int32_t unknown_;
};

}  // namespace

std::unique_ptr<const Pipeline> make_parts_pipeline(const Definition& definition,
                                                    const Vocabulary& vocabulary) {
  return std::make_unique<PartsPipeline>(definition, vocabulary);
}

}  // namespace bert::tokenizer
