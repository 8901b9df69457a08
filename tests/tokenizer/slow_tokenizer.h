// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/text_encoder.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/wordpiece/bert_normalizer.h"

namespace bert::tokenizer {

// What the tokenizer does to a text without added tokens, but step by step over whole lists of
// scalars, as Hugging Face does it, and with the vocabulary in a map.
class SlowTokenizer {
 public:
  SlowTokenizer(const NormalizerOptions& options, const std::vector<std::string>& tokens,
                std::string unknown, std::string prefix, size_t max_chars)
      : options_(options), prefix_(std::move(prefix)), max_chars_(max_chars) {
    for (const std::string& token : tokens) ids_[token] = static_cast<int32_t>(ids_.size());
    unknown_ = ids_.at(unknown);
  }

  // The ids and their offsets.
  std::pair<std::vector<int32_t>, std::vector<Offset>> encode(const std::string& text) const {
    Scalars scalars;
    int32_t source = 0;
    for (size_t at = 0; at < text.size(); ++source) {
      scalars.push_back({utf8::decode(text.data(), at), source, true});
    }
    if (options_.clean_text) clean(scalars);
    if (options_.handle_chinese_chars) set_chinese_apart(scalars);
    if (options_.strip_accents) strip_accents(scalars);
    if (options_.lowercase) lowercase(scalars);
    std::pair<std::vector<int32_t>, std::vector<Offset>> out;
    for (const Scalars& word : words(scalars)) tokenize(word, out.first, out.second);
    return out;
  }

 private:
  struct Scalar {
    char32_t c;
    int32_t source;
    bool first;  // of a decomposition
  };
  using Scalars = std::vector<Scalar>;

  static bool is(char32_t c, int flags) { return unicode::property(c).flags & flags; }

  static void clean(Scalars& text) {
    std::erase_if(text, [](const Scalar& s) { return is(s.c, unicode::kDropped); });
    for (Scalar& s : text) s.c = is(s.c, unicode::kSpace) ? U' ' : s.c;
  }

  static void set_chinese_apart(Scalars& text) {
    Scalars out;
    for (const Scalar& s : text) {
      const bool apart = is(s.c, unicode::kChinese);
      if (apart) out.push_back({U' ', s.source, true});
      out.push_back(s);
      if (apart) out.push_back({U' ', s.source, true});
    }
    text = out;
  }

  static std::u32string decompose(char32_t c) {
    if (c >= 0xac00 && c <= 0xd7a3) {
      const char32_t i = c - 0xac00, trail = i % 28;
      std::u32string jamo = {0x1100 + i / 588, 0x1161 + i % 588 / 28};
      if (trail != 0) jamo += 0x11a7 + trail;
      return jamo;
    }
    const std::u32string_view parts = unicode::decomposition(c);
    return parts.empty() ? std::u32string(1, c) : std::u32string(parts);
  }

  static void strip_accents(Scalars& text) {
    Scalars out;
    for (const Scalar& s : text) {
      for (bool first = true; const char32_t c : decompose(s.c)) {
        out.push_back({c, s.source, first});
        first = false;
      }
    }
    const auto rank = [](const Scalar& s) { return unicode::property(s.c).rank; };
    for (size_t begin = 0, end; begin < out.size(); begin = end) {
      end = begin + 1;
      while (end < out.size() && rank(out[end]) != 0) ++end;
      std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(begin),
                       out.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const Scalar& a, const Scalar& b) { return rank(a) < rank(b); });
    }
    size_t sources = 0;
    for (Scalar& s : out) s.source = text[s.first ? sources++ : sources - 1].source;
    std::erase_if(out, [](const Scalar& s) { return is(s.c, unicode::kNonspacing); });
    text = out;
  }

  static void lowercase(Scalars& text) {
    Scalars out;
    for (const Scalar& s : text) {
      out.push_back({unicode::to_lower(s.c), s.source, true});
      if (s.c == 0x130) out.push_back({0x307, s.source, true});
    }
    text = out;
  }

  static std::vector<Scalars> words(const Scalars& text) {
    std::vector<Scalars> out;
    bool open = false;
    for (const Scalar& s : text) {
      const bool alone = is(s.c, unicode::kPunctuation);
      if (is(s.c, unicode::kSpace)) {
        open = false;
      } else {
        if (!open || alone) out.emplace_back();
        out.back().push_back(s);
        open = !alone;
      }
    }
    return out;
  }

  void tokenize(const Scalars& word, std::vector<int32_t>& ids,
                std::vector<Offset>& offsets) const {
    const size_t before = ids.size();
    bool known = word.size() <= max_chars_;
    for (size_t begin = 0, end; known && begin < word.size(); begin = end) {
      for (end = word.size(); end > begin; --end) {
        const auto found = ids_.find((begin > 0 ? prefix_ : "") + utf8_of(word, begin, end));
        if (found == ids_.end()) continue;
        ids.push_back(found->second);
        offsets.push_back({word[begin].source, word[end - 1].source + 1});
        break;
      }
      known = end > begin;
    }
    if (known) return;
    ids.resize(before);
    offsets.resize(before);
    ids.push_back(unknown_);
    offsets.push_back({word.front().source, word.back().source + 1});
  }

  static std::string utf8_of(const Scalars& word, size_t begin, size_t end) {
    std::string out;
    for (size_t i = begin; i < end; ++i) {
      char bytes[4];
      out.append(bytes, utf8::encode(word[i].c, bytes));
    }
    return out;
  }

  NormalizerOptions options_;
  std::string prefix_;
  size_t max_chars_;
  std::map<std::string, int32_t> ids_;
  int32_t unknown_ = 0;
};

}  // namespace bert::tokenizer
