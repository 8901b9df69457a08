// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bert_normalizer.h"

#include <algorithm>

#include "tokenizer/unicode_tables.h"
#include "tokenizer/utf8.h"

namespace bert::tokenizer {

namespace {
// Unicode 15, section 3.12.
constexpr char32_t kHangul = 0xac00, kHangulEnd = 0xd7a4, kVowels = 21, kTrails = 28;
}  // namespace

// One call of normalize(), once it has met anything but plain ASCII.
//
// Offsets follow Hugging Face's alignments: canonical reordering moves marks but not the places
// that they are said to come from, so the k-th scalar that begins a decomposition stands for the
// k-th scalar of the source, whatever it is.
class NormalizerRun {
 public:
  NormalizerRun(const BertNormalizer& normalizer, NormalizedText& out)
      : options_(normalizer.options_), ascii_(normalizer.ascii_), out_(out) {}

  void run(std::string_view piece, int32_t source) {
    for (size_t at = 0; at < piece.size(); ++source) {
      reserve();
      const char32_t c = utf8::decode(piece.data(), at);
      if (c < 0x80) {
        if (!out_.marks_.empty()) flush_marks();
        if (ascii_[c] != BertNormalizer::kDrop) put(ascii_[c], source);
      } else {
        take(c, source);
      }
    }
    reserve();
    flush_marks();
  }

 private:
  // Room for what one scalar can become beside marks, which make their own: two spaces and a
  // decomposition of at most four scalars.
  void reserve() { reserve(6); }
  void reserve(size_t scalars) {
    if (out_.size_ + 4 * scalars <= out_.bytes_.size()) return;
    out_.bytes_.resize(2 * out_.bytes_.size() + 4 * scalars);
    out_.sources_.resize(out_.bytes_.size());
  }

  void take(char32_t c, int32_t source) {
    const unicode::Property p = unicode::property(c);
    if (options_.clean_text) {
      if (p.flags & unicode::kDropped) return;
      if (p.flags & unicode::kSpace) return flush_marks(), put(' ', source);
    }
    if (options_.handle_chinese_chars && p.flags & unicode::kChinese) {
      flush_marks();
      put(' ', source);
      decompose(c, p, source);
      put(' ', source);
    } else {
      decompose(c, p, source);
    }
  }

  void decompose(char32_t c, unicode::Property p, int32_t source) {
    if (!options_.strip_accents) return finish(c, p.flags, source);
    if (c >= kHangul && c < kHangulEnd) {
      const char32_t i = c - kHangul;
      flush_marks();
      put(0x1100 + i / (kVowels * kTrails), source);
      put(0x1161 + i % (kVowels * kTrails) / kTrails, source);
      if (i % kTrails != 0) put(0x11a7 + i % kTrails, source);
      return;
    }
    const std::u32string_view parts =
        p.flags & unicode::kMapped ? unicode::decomposition(c) : std::u32string_view();
    if (parts.empty()) return order(c, p, source, true);
    for (const char32_t& part : parts) {
      order(part, unicode::property(part), source, &part == parts.data());
    }
  }

  // Marks wait for the next starter, which ends the sequence that is to be put in order.
  void order(char32_t c, unicode::Property p, int32_t source, bool first) {
    if (p.rank != 0) return out_.marks_.push_back({c, source, p.rank, first});
    if (!out_.marks_.empty()) flush_marks();
    finish(c, p.flags, source);
  }

  void flush_marks() {
    auto& marks = out_.marks_;
    if (marks.empty()) return;
    const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
    if (!std::is_sorted(marks.begin(), marks.end(), by_rank)) sort_marks();
    reserve(2 * marks.size() + 6);
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
    // A mark that is not the first of its source stands for the source before it. One that leads
    // the sequence belongs to the decomposition of the starter that was just written.
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
    if (options_.lowercase) {
      if (c < 0x80) {
        c = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
      } else if (flags & unicode::kMapped) {
        const char32_t whole = c;
        c = unicode::to_lower(c);
        if (whole == 0x130) return put(c, source), put(0x307, source);
      }
    }
    put(c, source);
  }

  void put(char32_t c, int32_t source) {
    const size_t length = utf8::encode(c, out_.bytes_.data() + out_.size_);
    for (size_t i = 0; i < length; ++i) out_.sources_[out_.size_++] = source;
  }

  const NormalizerOptions options_;
  const std::array<uint8_t, 128>& ascii_;
  NormalizedText& out_;
};

BertNormalizer::BertNormalizer(const NormalizerOptions& options) : options_(options) {
  for (char32_t c = 0; c < ascii_.size(); ++c) {
    const uint8_t flags = unicode::property(c).flags;
    ascii_[c] = static_cast<uint8_t>(options.lowercase ? unicode::to_lower(c) : c);
    if (options.clean_text && flags & unicode::kSpace) ascii_[c] = ' ';
    if (options.clean_text && flags & unicode::kDropped) ascii_[c] = kDrop;
  }
}

void BertNormalizer::normalize(std::string_view piece, int32_t first, NormalizedText& out) const {
  if (out.bytes_.size() < piece.size()) {
    out.bytes_.resize(piece.size() + piece.size() / 2);
    out.sources_.resize(out.bytes_.size());
  }
  out.first_ = first;
  out.in_step_ = true;
  out.size_ = 0;
  for (; out.size_ < piece.size(); ++out.size_) {
    const auto byte = static_cast<uint8_t>(piece[out.size_]);
    if (byte >= 0x80 || ascii_[byte] == kDrop) break;
    out.bytes_[out.size_] = static_cast<char>(ascii_[byte]);
  }
  if (out.size_ == piece.size()) return;
  out.in_step_ = false;
  const auto done = static_cast<int32_t>(out.size_);
  for (int32_t i = 0; i < done; ++i) out.sources_[i] = first + i;
  NormalizerRun(*this, out).run(piece.substr(out.size_), first + done);
}

}  // namespace bert::tokenizer
