// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/definition.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr char32_t kMeta = 0x2581;
constexpr std::string_view kMetaBytes = "\u2581";

class UnigramPipeline : public Pipeline {
 public:
  UnigramPipeline(const Definition& definition, const Vocabulary& vocabulary)
      : options_(definition.unigram),
        normalizer_(options_.steps),
        unigram_(vocabulary, std::move(options_.scores), options_.unknown) {}

  bool encode(std::string_view piece, int32_t first, size_t limit, const AddedTokenMatcher& tokens,
              PieceScratch& scratch, TokenSequence& out) const override {
    if (!normalizer_.normalize(piece, first, scratch.unigram.normalizer)) return false;
    const size_t size = scratch.unigram.normalizer.text.size();
    const Run run{*this, limit, scratch.unigram, out};
    if (tokens.empty()) {
      run.words(0, size);
    } else {
      split(tokens, run, scratch);
    }
    return true;
  }

  std::string normalized(std::string_view text) const override {
    return normalizer_.normalized(text);
  }
  bool continues_word(std::string_view piece) const override {
    return !piece.starts_with(kMetaBytes);
  }
  int32_t unknown() const override { return options_.unknown; }

 private:
  // Tokenises one piece, whose scalars are scratch.normalizer.text.
  struct Run {
    const UnigramPipeline& pipeline;
    size_t limit;
    UnigramScratch& scratch;
    TokenSequence& out;

    void words(size_t begin, size_t end) const {
      if (!pipeline.options_.whitespace_split) return metaspace(begin, end);
      const std::vector<SourcedScalar>& text = scratch.normalizer.text;
      for (size_t word = begin; word < end && out.complete; word = begin) {
        while (word < end && unicode::is_space(text[word].c)) ++word;
        for (begin = word; begin < end && !unicode::is_space(text[begin].c);) ++begin;
        if (begin > word) metaspace(word, begin);
      }
    }

    void metaspace(size_t begin, size_t end) const {
      if (begin == end) return;
      const std::vector<SourcedScalar>& text = scratch.normalizer.text;
      scratch.bytes.reserve(4 * (end - begin) + kMetaBytes.size());
      scratch.sources.reserve(4 * (end - begin) + kMetaBytes.size());
      using Prepend = UnigramOptions::Prepend;
      const Prepend prepend = pipeline.options_.prepend;
      const bool has_meta = text[begin].c == ' ' || text[begin].c == kMeta;
      size_t size = 0;
      if (!has_meta &&
          (prepend == Prepend::always || (prepend == Prepend::first && text[begin].source == 0))) {
        put({kMeta, text[begin].source}, size);
      }
      for (size_t i = begin; i < end; ++i) {
        const bool is_meta = text[i].c == ' ' || text[i].c == kMeta;
        if (is_meta && size > 0 && pipeline.options_.split) {
          take_word(size);
          if (!out.complete) return;
          size = 0;
        }
        put({is_meta ? kMeta : text[i].c, text[i].source}, size);
      }
      take_word(size);
    }

    void put(SourcedScalar scalar, size_t& size) const {
      const size_t length = utf8::encode(scalar.c, scratch.bytes.data() + size);
      for (size_t i = 0; i < length; ++i) scratch.sources[size + i] = scalar.source;
      size += length;
    }

    void take_word(size_t size) const {
      if (!out.begin_word()) return;
      pipeline.unigram_.tokenize(size, scratch, out);
      out.full = out.size >= limit;
    }
  };

  static void split(const AddedTokenMatcher& tokens, const Run& run, PieceScratch& scratch) {
    const std::vector<SourcedScalar>& text = scratch.unigram.normalizer.text;
    std::string bytes;
    std::vector<size_t> scalars;  // by byte
    for (size_t i = 0; i < text.size(); ++i) {
      char scalar[4];
      bytes.append(scalar, utf8::encode(text[i].c, scalar));
      scalars.resize(bytes.size(), i);
    }
    scalars.push_back(text.size());
    tokens.split(bytes, scratch.pieces);
    for (const auto& [id, begin, end] : scratch.pieces) {
      if (id == AddedTokenMatcher::kText) {
        run.words(scalars[begin], scalars[end]);
      } else {
        run.out.push_added(id, text[scalars[begin]].source, text[scalars[end - 1]].source + 1,
                           std::string_view(bytes).substr(begin, end - begin));
      }
    }
  }

  UnigramOptions options_;
  TextNormalizer normalizer_;
  Unigram unigram_;
};

}  // namespace

std::unique_ptr<const Pipeline> make_unigram_pipeline(const Definition& definition,
                                                      const Vocabulary& vocabulary) {
  return std::make_unique<UnigramPipeline>(definition, vocabulary);
}

}  // namespace bert::tokenizer
