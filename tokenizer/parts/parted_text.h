// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens/added_tokens.h"
#include "tokenizer/parts/expressions/pattern.h"
#include "tokenizer/unigram/text_normalizer.h"

namespace bert::tokenizer {

// Bytes [begin, end) of the original text: whole characters, or none.
struct Span {
  int32_t begin, end;
};

// A part of a text: its bytes in the rewritten text, and those of the original that it was cut
// from.
struct Part {
  size_t begin, end;
  Span origin;
  int32_t id = AddedTokenMatcher::kText;  // of an added token
  bool is_text() const { return id == AddedTokenMatcher::kText; }
};

// A text that normalizers change and pre-tokenizers cut into parts, and where each of its bytes
// comes from. It matches Hugging Face's NormalizedString and PreTokenizedString to the byte,
// oddities included.
class PartedText {
 public:
  // One part: all of a well-formed text.
  void assign(std::string_view text);

  const std::vector<Part>& parts() const { return parts_; }
  std::string_view text(const Part& part) const {
    return std::string_view(text_).substr(part.begin, part.end - part.begin);
  }
  // What bytes [begin, end) of a part come from; begin < end.
  Span source(const Part& part, size_t begin, size_t end) const {
    return {sources_[part.begin + begin].begin, sources_[part.begin + end - 1].end};
  }

  // Cuts the added tokens out of the text.
  void cut_added(const AddedTokenMatcher& tokens);
  // Cuts every part that is text. find(text, matches) sets the matches in a part.
  template <class Find>
  void cut(Delimiter delimiter, Find&& find) {
    cut_.clear();
    for (const Part& part : parts_) {
      if (!part.is_text()) {
        cut_.push_back(part);
        continue;
      }
      matches_.clear();
      find(text(part), matches_);
      apply(delimiter, matches_);
      for (const Match& match : matches_) {
        if (!match.is_match) add_slice(part, match.begin, match.end);
      }
    }
    parts_.swap(cut_);
  }
  // Changes every part that is text. change(part) calls one of the functions below, which append
  // the part's new text; a part left empty is dropped.
  template <class Change>
  void rewrite(Change&& change) {
    cut_.clear();
    new_text_.clear();
    new_sources_.clear();
    for (const Part& part : parts_) {
      const size_t begin = new_text_.size();
      part.is_text() ? change(part) : keep(part);
      if (new_text_.size() > begin) {
        cut_.push_back({begin, new_text_.size(), part.origin, part.id});
      }
    }
    parts_.swap(cut_);
    text_.swap(new_text_);
    sources_.swap(new_sources_);
  }
  void keep(const Part& part) { copy(part, 0, part.end - part.begin); }
  // NormalizedString::transform. removed: how many characters are dropped before the first edit.
  void edit(const Part& part, std::span<const Edit> edits, size_t removed);
  void prepend(const Part& part, std::string_view prefix);
  void replace(const Part& part, std::span<const Match> matches, std::string_view by);

 private:
  void copy(const Part& part, size_t begin, size_t end);
  void put(std::string_view bytes, Span source);
  void add_slice(const Part& part, size_t begin, size_t end);
  std::pair<size_t, size_t> editable(const Part& part) const;

  std::string text_, new_text_;
  std::vector<Span> sources_, new_sources_;  // by byte
  std::vector<Part> parts_, cut_;
  std::vector<Match> matches_;
  size_t most_ = 0;  // bytes that normalizers may make of the text
};

}  // namespace bert::tokenizer
