// SPDX-License-Identifier: Apache-2.0
//
// Normalises scalars beyond ASCII: cleaning, spaces around Chinese characters, canonical
// decomposition and order, lower case.
#include <algorithm>
#include <array>

#include "tokenizer/unicode/hangul.h"
#include "tokenizer/wordpiece/normalizer_run.h"

namespace bert::tokenizer {

bool NormalizerRun::take_scalar() {
  char32_t c;
  const size_t length = utf8::decode_checked(piece_, at_, c);
  if (length == 0) return false;
  if (c < 0x10000 && normalizer_.plain_[c / 64] >> c % 64 & 1) {
    flush_marks();
    put_bytes(piece_.data() + at_, length, source_);
  } else {
    take(c, source_);
  }
  at_ += length;
  ++source_;
  return true;
}

void NormalizerRun::take(char32_t c, int32_t source) {
  const unicode::Property p = unicode::property(c);
  if (options_.clean_text) {
    if (p.flags & unicode::kDropped) return;
    if (p.flags & unicode::kSpace) return flush_marks(), put(' ', unicode::kSpace, source);
  }
  if (options_.handle_chinese_chars && p.flags & unicode::kChinese) {
    flush_marks();
    put(' ', unicode::kSpace, source);
    decompose(c, p, source);
    put(' ', unicode::kSpace, source);
  } else {
    decompose(c, p, source);
  }
}

void NormalizerRun::decompose(char32_t c, unicode::Property p, int32_t source) {
  if (!options_.strip_accents) return finish(c, p.flags, source);
  if (unicode::is_syllable(c)) return decompose_hangul(c - unicode::kHangul, source);
  const std::u32string_view parts =
      p.flags & unicode::kMapped ? unicode::decomposition(c) : std::u32string_view();
  if (parts.empty()) return order(c, p, source, true);
  for (const char32_t& part : parts) {
    order(part, unicode::property(part), source, &part == parts.data());
  }
}

void NormalizerRun::decompose_hangul(char32_t i, int32_t source) {
  flush_marks();
  put(unicode::kLead + i / (unicode::kVowels * unicode::kTrails), 0, source);
  put(unicode::kVowel + i % (unicode::kVowels * unicode::kTrails) / unicode::kTrails, 0, source);
  if (i % unicode::kTrails != 0) put(unicode::kTrail + i % unicode::kTrails, 0, source);
}

// Marks wait for the next starter, which ends the sequence to be ordered.
void NormalizerRun::order(char32_t c, unicode::Property p, int32_t source, bool first) {
  if (p.rank != 0) return out_.marks_.push_back({c, source, p.rank, first});
  flush_marks();
  finish(c, p.flags, source);
}

void NormalizerRun::put_marks() {
  auto& marks = out_.marks_;
  const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
  if (!std::is_sorted(marks.begin(), marks.end(), by_rank)) sort_marks();
  for (const auto& mark : marks) finish(mark.c, unicode::property(mark.c).flags, mark.source);
  marks.clear();
}

// Counting sort: stable, and linear in a sequence of any length.
void NormalizerRun::sort_marks() {
  auto& marks = out_.marks_;
  std::array<size_t, 257> begins{};
  for (const auto& mark : marks) ++begins[mark.rank + 1];
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  out_.sorted_.resize(marks.size());
  for (const auto& mark : marks) out_.sorted_[begins[mark.rank]++] = mark;
  // A mark that does not begin its decomposition gets the source of the mark before it. If it
  // leads the sequence, it belongs to the decomposition of the starter that was just written.
  size_t next = 0;
  int32_t source = marks[0].source;
  for (auto& mark : out_.sorted_) {
    if (mark.first) {
      while (!marks[next].first) ++next;
      source = marks[next++].source;
    }
    mark.source = source;
  }
  marks.swap(out_.sorted_);
}

void NormalizerRun::finish(char32_t c, uint8_t flags, int32_t source) {
  if (options_.strip_accents && flags & unicode::kNonspacing) return;
  if (options_.lowercase && flags & unicode::kMapped) {
    const char32_t whole = c;
    c = unicode::to_lower(c);
    if (whole == 0x130) return put(c, 0, source), put(0x307, 0, source);
  }
  put(c, flags, source);
}

BertNormalizer::BertNormalizer(const NormalizerOptions& options) : options_(options) {
  for (char32_t c = 0; c < ascii_.size(); ++c) {
    const uint8_t flags = unicode::property(c).flags;
    ascii_[c] = static_cast<uint8_t>(options.lowercase ? unicode::to_lower(c) : c);
    if (options.clean_text && flags & unicode::kSpace) ascii_[c] = ' ';
    if (options.clean_text && flags & unicode::kDropped) ascii_[c] = kDrop;
  }
  for (char32_t c = 0x80; c < 64 * plain_.size(); ++c) {
    plain_[c / 64] |= static_cast<uint64_t>(is_plain(c)) << c % 64;
  }
}

bool BertNormalizer::is_plain(char32_t c) const {
  const unicode::Property p = unicode::property(c);
  int not_plain = unicode::kSpace | unicode::kPunctuation;
  if (options_.clean_text) not_plain |= unicode::kDropped;
  if (options_.handle_chinese_chars) not_plain |= unicode::kChinese;
  if (options_.strip_accents) not_plain |= unicode::kNonspacing | unicode::kMapped;
  if (options_.lowercase) not_plain |= unicode::kMapped;
  const bool moves = options_.strip_accents && (p.rank != 0 || unicode::is_syllable(c));
  return !moves && (p.flags & not_plain) == 0;
}

}  // namespace bert::tokenizer
