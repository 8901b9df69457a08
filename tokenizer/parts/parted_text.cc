// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/parted_text.h"

#include <stdexcept>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

size_t length_at(std::string_view text, size_t at) {
  size_t end = at;
  utf8::decode(text.data(), end);
  return end - at;
}

}  // namespace

void PartedText::assign(std::string_view text) {
  text_ = text;
  most_ = most_of_normalised(text.size());
  sources_.resize(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto begin = static_cast<int32_t>(at);
    const auto end = static_cast<int32_t>(at + length_at(text, at));
    while (at < static_cast<size_t>(end)) sources_[at++] = {begin, end};
  }
  parts_.assign(1, {0, text.size(), {0, static_cast<int32_t>(text.size())}});
}

void PartedText::copy(const Part& part, size_t begin, size_t end) {
  new_text_.append(text_, part.begin + begin, end - begin);
  const auto first = sources_.begin() + static_cast<ptrdiff_t>(part.begin);
  new_sources_.insert(new_sources_.end(), first + static_cast<ptrdiff_t>(begin),
                      first + static_cast<ptrdiff_t>(end));
}

void PartedText::put(std::string_view bytes, Span source) {
  if (new_text_.size() + bytes.size() > most_) {
    throw std::runtime_error("the tokenizer's normalizers make the text too long");
  }
  new_text_.append(bytes);
  new_sources_.insert(new_sources_.end(), bytes.size(), source);
}

void PartedText::add_slice(const Part& part, size_t begin, size_t end) {
  if (begin >= end) return;
  cut_.push_back({part.begin + begin, part.begin + end, source(part, begin, end)});
}

void PartedText::cut_added(const AddedTokenMatcher& tokens) {
  cut_.clear();
  std::vector<AddedTokenMatcher::Piece> pieces;
  for (const Part& part : parts_) {
    tokens.split(text(part), pieces);
    for (const auto& [id, begin, end] : pieces) {
      add_slice(part, begin, end);
      cut_.back().id = id;
    }
  }
  parts_.swap(cut_);
}

// The bytes of a part to which edits apply: without those at the beginning that come from nothing
// in the original; none if the whole part comes from nothing.
std::pair<size_t, size_t> PartedText::editable(const Part& part) const {
  if (part.origin.begin == part.origin.end) return {0, 0};
  const size_t size = part.end - part.begin;
  size_t first = 0;
  while (first < size) {
    const Span span = sources_[part.begin + first];
    if (span.begin != span.end) break;
    ++first;
  }
  return {first, size};
}

void PartedText::edit(const Part& part, std::span<const Edit> edits, size_t removed) {
  const std::string_view in = text(part);
  const Span* const sources = sources_.data() + part.begin;
  const std::pair<size_t, size_t> range = editable(part);
  const size_t first = range.first, last = range.second;
  copy(part, 0, first);
  size_t at = first;
  const auto skip = [&](size_t characters) {
    for (; characters > 0 && at < last; --characters) at += length_at(in, at);
  };
  skip(removed);
  for (const auto& [c, change] : edits) {
    Span source{part.origin.begin, part.origin.begin};
    if (change > 0) {
      if (at > 0) source = sources[at - 1];
    } else {
      if (at >= in.size()) {
        throw std::runtime_error(
            "the tokenizer's normalizers cannot be applied to this text in turn");
      }
      source = sources[at];
      skip(static_cast<size_t>(1 - change));
    }
    char bytes[4];
    put({bytes, utf8::encode(c, bytes)}, source);
  }
  copy(part, last, in.size());
}

void PartedText::prepend(const Part& part, std::string_view prefix) {
  const std::string_view in = text(part);
  const size_t first = length_at(in, 0);
  const Span source =
      prefix.empty() ? Span{part.origin.begin, part.origin.begin} : sources_[part.begin];
  put(prefix, source);
  put(in.substr(0, first), source);
  copy(part, first, in.size());
}

void PartedText::replace(const Part& part, std::span<const Match> matches, std::string_view by) {
  for (const auto& [begin, end, is_match] : matches) {
    if (!is_match) {
      copy(part, begin, end);
    } else if (end == 0) {
      put(by, {part.origin.begin, part.origin.begin});
    } else {
      put(by, sources_[part.begin + end - 1]);
    }
  }
}

}  // namespace bert::tokenizer
