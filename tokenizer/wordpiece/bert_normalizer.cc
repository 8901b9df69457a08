// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/wordpiece/bert_normalizer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tokenizer/unicode/hangul.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

// Sixteen bytes at once, in vectors that GCC and Clang compile for any instruction set.
constexpr size_t kBlock = 16;
using Block = uint8_t __attribute__((vector_size(kBlock)));
using Halves = uint64_t __attribute__((vector_size(kBlock)));

// One bit for each byte of a comparison's result.
uint32_t bits_of(Halves mask) {
  static_assert(std::endian::native == std::endian::little);
  const auto gather = [](uint64_t half) {
    return static_cast<uint32_t>((half & 0x8040201008040201u) * 0x0101010101010101u >> 56);
  };
  return gather(mask[0]) | gather(mask[1]) << 8;
}

}  // namespace

// One call of normalize().
//
// Offsets follow Hugging Face's alignments: canonical reordering moves marks but not their sources,
// so the k-th scalar that begins a decomposition gets the k-th scalar of the source, whichever it
// is.
class NormalizerRun {
 public:
  NormalizerRun(const BertNormalizer& normalizer, std::string_view piece, int32_t source,
                NormalizedText& out)
      : normalizer_(normalizer),
        options_(normalizer.options_),
        piece_(piece),
        source_(source),
        out_(out) {
    // A scalar's bytes become at most three times as many, as the tables' generator checks; blocks
    // and scalars are written whole.
    const size_t max_bytes = 3 * piece.size() + 2 * kBlock;
    out.bytes_.reserve(max_bytes);
    out.sources_.reserve(max_bytes);
    out.breaks_.reserve(max_bytes / 64 + 2);
    std::fill_n(out.breaks_.data(), max_bytes / 64 + 2, 0);
    out.size_ = 0;
  }

  bool run() {
    while (at_ < piece_.size()) {
      if (static_cast<uint8_t>(piece_[at_]) >= 0x80) {
        if (!take_scalar()) return out_.marks_.clear(), false;
      } else if (!take_block()) {
        take_ascii();
      }
    }
    flush_marks();
    return true;
  }

 private:
  // Takes the printable ASCII that comes next, up to a block of it; false if there is none.
  bool take_block() {
    Block block{};
    const size_t left = piece_.size() - at_;
    if (left >= kBlock) {  // the usual case, as one load
      std::memcpy(&block, piece_.data() + at_, kBlock);
    } else {
      std::memcpy(&block, piece_.data() + at_, left);
    }
    const uint32_t printable = bits_of(reinterpret_cast<Halves>(block - 0x20 < 0x5f));
    const auto count = static_cast<uint32_t>(std::countr_one(printable));
    if (count == 0) return false;
    flush_marks();
    const Block alphabetic = (block | 0x20) - 'a' < 26, digit = block - '0' < 10;
    const uint32_t in_words = bits_of(reinterpret_cast<Halves>(alphabetic | digit));
    if (options_.lowercase) block |= alphabetic & 0x20;
    std::memcpy(out_.bytes_.data() + out_.size_, &block, kBlock);
    int32_t* const sources = out_.sources_.data() + out_.size_;
    for (int32_t i = 0; i < static_cast<int32_t>(kBlock); ++i) sources[i] = source_ + i;
    const uint64_t breaks = ~in_words & ((1u << count) - 1);
    uint64_t* const words = out_.breaks_.data() + out_.size_ / 64;
    const size_t shift = out_.size_ % 64;
    words[0] |= breaks << shift;
    if (shift > 64 - kBlock) words[1] |= breaks >> (64 - shift);
    out_.size_ += count;
    at_ += count;
    source_ += static_cast<int32_t>(count);
    return true;
  }

  void take_ascii() {
    const auto c = static_cast<uint8_t>(piece_[at_++]);
    const int32_t source = source_++;
    const uint8_t becomes = normalizer_.ascii_[c];
    if (becomes == BertNormalizer::kDrop) return;  // the marks on either side are one sequence
    flush_marks();
    put(becomes, unicode::property(becomes).flags, source);
  }

  bool take_scalar() {
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

  void take(char32_t c, int32_t source) {
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

  void decompose(char32_t c, unicode::Property p, int32_t source) {
    if (!options_.strip_accents) return finish(c, p.flags, source);
    if (unicode::is_syllable(c)) return decompose_hangul(c - unicode::kHangul, source);
    const std::u32string_view parts =
        p.flags & unicode::kMapped ? unicode::decomposition(c) : std::u32string_view();
    if (parts.empty()) return order(c, p, source, true);
    for (const char32_t& part : parts) {
      order(part, unicode::property(part), source, &part == parts.data());
    }
  }

  void decompose_hangul(char32_t i, int32_t source) {
    flush_marks();
    put(unicode::kLead + i / (unicode::kVowels * unicode::kTrails), 0, source);
    put(unicode::kVowel + i % (unicode::kVowels * unicode::kTrails) / unicode::kTrails, 0, source);
    if (i % unicode::kTrails != 0) put(unicode::kTrail + i % unicode::kTrails, 0, source);
  }

  // Marks wait for the next starter, which ends the sequence to be put in order.
  void order(char32_t c, unicode::Property p, int32_t source, bool first) {
    if (p.rank != 0) return out_.marks_.push_back({c, source, p.rank, first});
    flush_marks();
    finish(c, p.flags, source);
  }

  void flush_marks() {
    if (!out_.marks_.empty()) put_marks();
  }

  void put_marks() {
    auto& marks = out_.marks_;
    const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
    if (!std::is_sorted(marks.begin(), marks.end(), by_rank)) sort_marks();
    for (const auto& mark : marks) finish(mark.c, unicode::property(mark.c).flags, mark.source);
    marks.clear();
  }

  // Counting sort: stable, and linear in a sequence of any length.
  void sort_marks() {
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

  void finish(char32_t c, uint8_t flags, int32_t source) {
    if (options_.strip_accents && flags & unicode::kNonspacing) return;
    if (options_.lowercase && flags & unicode::kMapped) {
      const char32_t whole = c;
      c = unicode::to_lower(c);
      if (whole == 0x130) return put(c, 0, source), put(0x307, 0, source);
    }
    put(c, flags, source);
  }

  void put(char32_t c, uint8_t flags, int32_t source) {
    if (flags & (unicode::kSpace | unicode::kPunctuation)) {
      out_.breaks_[out_.size_ / 64] |= uint64_t{1} << out_.size_ % 64;
    }
    char bytes[4];
    put_bytes(bytes, utf8::encode(c, bytes), source);
  }

  // The 1 to 4 bytes of a scalar.
  void put_bytes(const char* bytes, size_t length, int32_t source) {
    char* const out = out_.bytes_.data() + out_.size_;
    int32_t* const sources = out_.sources_.data() + out_.size_;
    for (size_t i = 0; i < length; ++i) out[i] = bytes[i];
    for (size_t i = 0; i < 4; ++i) sources[i] = source;
    out_.size_ += length;
  }

  const BertNormalizer& normalizer_;
  const NormalizerOptions options_;
  const std::string_view piece_;
  size_t at_ = 0;
  int32_t source_;  // the scalar at at_
  NormalizedText& out_;
};

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

bool BertNormalizer::normalize(std::string_view piece, int32_t first, NormalizedText& out) const {
  return NormalizerRun(*this, piece, first, out).run();
}

}  // namespace bert::tokenizer
