// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/text_encoder.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tokenizer/text_encoder_impl.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

// Memory reused from call to call.
struct EncodingScratch {
  TokenSequence first, second;
  PieceScratch piece;
  std::vector<AddedTokenMatcher::Piece> pieces;
};

namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

size_t special_count(const Template& pieces) {
  size_t count = 0;
  for (const TemplatePiece& piece : pieces) count += piece.ids.size();
  return count;
}

// Hugging Face's longest_first truncation: the longer text is cut, to the shorter one's size at
// most; if that is not enough, each gets half the room, and an odd token goes to the longer text
// (the second if they are equally long).
void longest_first(size_t room, size_t& first, size_t& second) {
  if (first + second <= room) return;
  size_t& shorter = first > second ? second : first;
  size_t& longer = first > second ? first : second;
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = room - shorter;
  }
}

// Fills in the template with the first, or the last, tokens of each text.
Encoding fill_template(const Template& pieces, const EncodingScratch& scratch, size_t first_size,
                       size_t second_size, bool keep_last) {
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
    }
    out.offsets.resize(out.ids.size());
    out.type_ids.resize(out.ids.size(), piece.type_id);
  }
  return out;
}

// Runs work() on `count` threads, this one included, or on as many as can be started.
void run_on_threads(size_t count, const std::function<void()>& work) {
  std::vector<std::thread> others;
  others.reserve(count);
  try {
    for (size_t i = 1; i < count; ++i) others.emplace_back(work);
  } catch (const std::exception&) {
    // The threads that did start do all of the work.
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace

void TextEncoder::Impl::encode_text(std::string_view text, const char* which, size_t limit,
                                    EncodingScratch& scratch, TokenSequence& out) const {
  out.clear();
  out.trims = trim_offsets;
  out.keeps_first = keeps_first;
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
  // Otherwise UTF-8 is checked as it is decoded.
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
  thread_local EncodingScratch scratch;
  const Template& pieces = second ? impl_->pair : impl_->single;
  const size_t special = special_count(pieces);
  const auto limit = max_length == 0 ? kNoLimit : static_cast<size_t>(max_length);
  if (max_length < 0 || limit < special) {
    throw std::runtime_error(fmt::format(
        "max_length: found {}, expected at least {} for the special tokens", max_length, special));
  }
  // How many tokens Hugging Face counts: truncating on the left, it goes through the words from the
  // last one backwards, and stops at the limit.
  const auto counted_size = [&](const TokenSequence& text) {
    if (!impl_->truncate_left || text.size <= limit) return text.size;
    size_t count = limit;
    const auto begins_word = [&](int32_t id) {
      return id == impl_->pipeline->unknown() || (!continues_word(id) && !impl_->is_added(id));
    };
    while (count < text.size && !begins_word(text.ids[text.size - count])) ++count;
    return count;
  };
  const size_t text_limit = impl_->truncate_left ? kNoLimit : limit;
  impl_->encode_text(first, "first text", text_limit, scratch, scratch.first);
  scratch.second.clear();
  if (second) impl_->encode_text(*second, "second text", text_limit, scratch, scratch.second);
  size_t first_size = counted_size(scratch.first), second_size = counted_size(scratch.second);
  if (limit != kNoLimit) longest_first(limit - special, first_size, second_size);
  Encoding out = fill_template(pieces, scratch, first_size, second_size, impl_->truncate_left);
  out.truncated = !scratch.first.complete || !scratch.second.complete ||
                  first_size < scratch.first.size || second_size < scratch.second.size;
  return out;
}

std::vector<Encoding> TextEncoder::encode_batch(std::span<const Texts> inputs, int max_length,
                                                int threads) const {
  // Threads take a few inputs at a time, so that none is left with most of the long ones.
  constexpr size_t kInputsAtATime = 64;
  std::vector<Encoding> out(inputs.size());
  std::atomic<size_t> next = 0, first_error = inputs.size();
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t begin; (begin = next.fetch_add(kInputsAtATime)) < first_error;) {
      size_t i = begin;
      try {
        for (; i < std::min(begin + kInputsAtATime, inputs.size()); ++i) {
          out[i] = encode(inputs[i].first, inputs[i].second, max_length);
        }
      } catch (const std::exception&) {
        const std::lock_guard lock(mutex);
        if (i >= first_error) continue;
        first_error = i;
        error = std::current_exception();
      }
    }
  };
  // Less text than this is encoded by the time that another thread has started.
  constexpr size_t kBytesPerThread = size_t{64} << 10;
  size_t bytes = 0;
  for (const Texts& texts : inputs) bytes += texts.first.size() + texts.second.value_or("").size();
  run_on_threads(std::min(static_cast<size_t>(std::max(threads, 1)), bytes / kBytesPerThread + 1),
                 work);
  if (!error) return out;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {  // not the input's fault
    throw;
  } catch (const std::exception& reason) {
    throw std::runtime_error(fmt::format("input {}: {}", first_error.load(), reason.what()));
  }
}

TextEncoder::TextEncoder(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;
TextEncoder& TextEncoder::operator=(TextEncoder&&) noexcept = default;
TextEncoder::~TextEncoder() = default;

int TextEncoder::vocabulary_size() const { return impl_->vocabulary.end_id(); }
bool TextEncoder::has(int32_t id) const { return impl_->vocabulary.has(id); }
bool TextEncoder::lowercases() const { return impl_->lowercases; }
const std::string& TextEncoder::token(int32_t id) const { return impl_->vocabulary.token(id); }
bool TextEncoder::continues_word(int32_t id) const {
  const std::string& piece = impl_->vocabulary.token(id);
  if (id == impl_->pipeline->unknown()) return false;
  return !impl_->is_added(id) && impl_->pipeline->continues_word(piece);
}
int32_t TextEncoder::mask_id() const { return impl_->mask; }
int TextEncoder::default_max_length() const { return impl_->max_length; }
const std::vector<std::string>& TextEncoder::notes() const { return impl_->notes; }

}  // namespace bert::tokenizer
