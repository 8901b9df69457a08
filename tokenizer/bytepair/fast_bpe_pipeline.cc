// SPDX-License-Identifier: Apache-2.0
//
// fastBPE, as PhoBERT's and BERTweet's Python classes have it: words between white space are merged
// from characters to symbols, which need not be in the vocabulary. There, a symbol that does not
// end its word has "@@" at its end, and one that does has lost "</w>".
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr std::string_view kContinued = "@@";

// All symbols that merges join or make, after the one that stands for any other character.
Vocabulary symbols_of(const BytePairOptions& options) {
  std::vector<std::pair<std::string, int32_t>> symbols = {{options.unknown, 0}};
  std::unordered_map<std::string, int32_t> known;
  const auto add = [&](const std::string& symbol) {
    const auto id = static_cast<int32_t>(symbols.size());
    if (known.emplace(symbol, id).second) symbols.emplace_back(symbol, id);
  };
  for (const auto& [left, right] : options.merges) {
    add(left), add(right), add(left + right);
  }
  if (symbols.size() > static_cast<size_t>(Vocabulary::kMaxId) + 1) {
    throw std::runtime_error(fmt::format("{}: {} symbols, expected at most {}", options.merges_name,
                                         symbols.size(), Vocabulary::kMaxId + 1));
  }
  return Vocabulary(std::move(symbols), {}, false);
}

class FastBpePipeline : public Pipeline {
 public:
  FastBpePipeline(const Definition& definition, const Vocabulary& vocabulary)
      : vocabulary_(vocabulary),
        symbols_(symbols_of(definition.byte_pair)),
        byte_pair_(symbols_, definition.byte_pair),
        unknown_(vocabulary.find(definition.word_piece.unknown)) {
    const std::string& end = definition.byte_pair.suffix;
    for (int32_t id = 0; id < symbols_.end_id(); ++id) {
      std::string symbol = symbols_.token(id);
      ending_.push_back(symbol.ends_with(end) ? find(symbol.substr(0, symbol.size() - end.size()))
                                              : unknown_);
      continued_.push_back(find(symbol.append(kContinued)));
    }
  }

  bool encode(std::string_view piece, int32_t scalar, size_t limit, const AddedTokenMatcher&,
              PieceScratch& scratch, TokenSequence& out) const override {
    if (utf8::first_invalid(piece) != std::string_view::npos) return false;
    for (size_t at = 0, end = 0; at < piece.size(); at = end) {
      end = word_end(piece, at);
      if (end == at) {
        utf8::decode(piece.data(), end);
        ++scalar;
        continue;
      }
      if (!out.begin_word()) return true;
      scalar = take(piece.substr(at, end - at), scalar, scratch.byte_pair, out);
      out.full = out.size >= limit;
    }
    return true;
  }

  std::string normalized(std::string_view text) const override { return std::string(text); }
  // A token shows whether the next one continues its word, but not whether it continues one.
  bool continues_word(std::string_view) const override { return false; }
  int32_t unknown() const override { return unknown_; }

 private:
  int32_t find(std::string_view token) const {
    const int32_t id = vocabulary_.find(token);
    return id == Vocabulary::kNone ? unknown_ : id;
  }

  // As of the expression \S+\n?; at itself if there is no word.
  static size_t word_end(std::string_view text, size_t at) {
    size_t end = at;
    for (size_t next = at; next < text.size(); end = next) {
      if (!unicode::is_python_space(utf8::decode(text.data(), next))) continue;
      return end > at && text[end] == '\n' ? end + 1 : end;
    }
    return end;
  }

  // Appends the tokens of a word that begins at scalar `scalar`. Returns the scalar after it.
  int32_t take(std::string_view word, int32_t scalar, BytePairScratch& scratch,
               TokenSequence& out) const {
    byte_pair_.tokenize(word, scratch);
    out.reserve(scratch.parts.size());
    size_t at = 0;
    for (const auto& [symbol, length] : scratch.parts) {
      const std::string_view bytes = word.substr(at, static_cast<size_t>(length));
      at += bytes.size();
      const bool ends = at == word.size();
      int32_t id = (ends ? ending_ : continued_)[static_cast<size_t>(symbol)];
      if (symbol == byte_pair_.unknown()) {
        id = find(scratch.spelled.assign(bytes).append(ends ? "" : kContinued));
      }
      const int32_t begin = scalar;
      scalar += static_cast<int32_t>(utf8::count_scalars(bytes));
      out.push(id, begin, scalar);
    }
    return scalar;
  }

  const Vocabulary& vocabulary_;
  Vocabulary symbols_;
  BytePair byte_pair_;
  int32_t unknown_;
  std::vector<int32_t> ending_, continued_;  // the tokens of each symbol
};

}  // namespace

std::unique_ptr<const Pipeline> make_fast_bpe_pipeline(const Definition& definition,
                                                       const Vocabulary& vocabulary) {
  return std::make_unique<FastBpePipeline>(definition, vocabulary);
}

}  // namespace bert::tokenizer
