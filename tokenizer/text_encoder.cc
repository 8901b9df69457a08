// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/text_encoder.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "tokenizer/text_encoder_impl.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

// Whether the thread's scratch has been destroyed: the destructor of a static or thread_local
// object may tokenize after that.
thread_local bool scratch_is_over = false;
struct ThreadScratch : EncodingScratch {
  ThreadScratch() = default;
  ~ThreadScratch() { scratch_is_over = true; }
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;
};

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

size_t special_count(const Template& pieces) {
  size_t count = 0;
  for (const TemplatePiece& piece : pieces) count += piece.ids.size();
  return count;
}

// Fills in the template with the first or the last tokens of each text.
Encoding fill_template(const Template& pieces, const EncodingScratch& scratch, size_t first_size,
                       size_t second_size, bool keep_last, const OffsetTrimmer& trimmer) {
  Encoding out;
  const size_t size = special_count(pieces) + first_size + second_size;
  out.ids.reserve(size);
  out.type_ids.reserve(size);
  out.offsets.reserve(size);
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind == TemplatePiece::Kind::special) {
      out.ids.insert(out.ids.end(), piece.ids.begin(), piece.ids.end());
    } else {
      const bool is_first = piece.kind == TemplatePiece::Kind::first;
      const TokenSequence& text = is_first ? scratch.first : scratch.second;
      const size_t kept = is_first ? first_size : second_size;
      const auto begin = static_cast<int32_t>(out.ids.size());
      (is_first ? out.first : out.second) = {begin, begin + static_cast<int32_t>(kept)};
      const size_t from = keep_last ? text.size - kept : 0;
      const int32_t* ids = text.ids.data() + from;
      const Offset* offsets = text.offsets.data() + from;
      out.ids.insert(out.ids.end(), ids, ids + kept);
      out.offsets.insert(out.offsets.end(), offsets, offsets + kept);
      if (trimmer.trims()) trimmer.trim(text, from, std::span(out.offsets).last(kept), piece.after);
    }
    out.offsets.resize(out.ids.size());
    out.type_ids.resize(out.ids.size(), piece.type_id);
  }
  return out;
}

}  // namespace

void TextEncoder::Impl::encode_text(std::string_view text, const char* which, size_t limit,
                                    EncodingScratch& scratch, TokenSequence& out) const {
  out.clear();
  out.notes.of_spelling = trimmer.trims();
  out.notes.of_words = truncate_left || scratch.notes_words;
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw std::runtime_error(fmt::format("the {} has {} bytes, expected at most {}", which,
                                         text.size(), std::numeric_limits<int32_t>::max()));
  }
  const auto check = [&](bool valid) {
    if (valid) return;
    throw std::runtime_error(
        fmt::format("the {} is not valid UTF-8 at byte {}", which, utf8::first_invalid(text)));
  };
  const auto is_valid = [&] { return utf8::first_invalid(text) == std::string_view::npos; };
  // Otherwise, UTF-8 is checked as it is decoded.
  if (raw_tokens.looks_around()) check(is_valid());
  raw_tokens.split(text, scratch.pieces);
  int32_t scalar = 0;
  size_t at = 0;
  for (const auto& [id, begin, end] : scratch.pieces) {
    // Pieces may overlap: see AddedTokenMatcher::split.
    const auto count = [&](size_t from, size_t to) {
      return static_cast<int32_t>(utf8::count_scalars(text.substr(from, to - from)));
    };
    scalar = begin >= at ? scalar + count(at, begin) : scalar - count(begin, at);
    at = begin;
    if (id == AddedTokenMatcher::kText) {
      check(pipeline->encode(text.substr(begin, end - begin), scalar, limit, normalized_tokens,
                             scratch.piece, out));
    } else {
      out.push_added(id, scalar, scalar + count(begin, end), text.substr(begin, end - begin));
    }
    if (!out.complete) return check(is_valid());
  }
}

Encoding TextEncoder::encode(std::string_view first, std::optional<std::string_view> second,
                             int max_length) const {
  if (scratch_is_over) {
    EncodingScratch scratch;
    return impl_->encode(first, second, max_length, scratch);
  }
  thread_local ThreadScratch scratch;
  return impl_->encode(first, second, max_length, scratch);
}

Encoding TextEncoder::Impl::encode(std::string_view first, std::optional<std::string_view> second,
                                   int most, EncodingScratch& scratch) const {
  if (!refusal.empty()) throw std::runtime_error(refusal);
  const Template& pieces = second ? pair : single;
  const size_t special = special_count(pieces);
  const auto limit = most == 0 ? kNoLimit : static_cast<size_t>(most);
  if (most < 0 || limit < special) {
    throw std::runtime_error(fmt::format(
        "max_length: found {}, expected at least {} for the special tokens", most, special));
  }
  const size_t text_limit = truncate_left ? kNoLimit : limit;
  encode_text(first, "first text", text_limit, scratch, scratch.first);
  scratch.second.clear();
  if (second) encode_text(*second, "second text", text_limit, scratch, scratch.second);
  size_t first_size = scratch.first.size, second_size = scratch.second.size;
  if (first_size + second_size > limit - special) {
    std::tie(first_size, second_size) =
        truncated_sizes(scratch.first, scratch.second, limit, special);
  }
  Encoding out = fill_template(pieces, scratch, first_size, second_size, truncate_left, trimmer);
  out.truncated = !scratch.first.complete || !scratch.second.complete ||
                  first_size < scratch.first.size || second_size < scratch.second.size;
  return out;
}

}  // namespace bert::tokenizer
