// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/unigram.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/token_sequence.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/unigram/all_prefixes.h"

namespace bert::tokenizer {

namespace {

constexpr double kUnknownPenalty = 10;
constexpr int32_t kNowhere = -1;
constexpr size_t kStep = 1 << 16;
constexpr size_t kLongestScalar = 4;

// The length of the scalar that begins with this byte of well-formed UTF-8.
size_t scalar_length(char byte) {
  const auto lead = static_cast<uint8_t>(byte);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

}  // namespace

// The nodes from byte `begin` of the word on. Node [i]: the best pieces for its first i bytes.
struct Unigram::Window {
  RawBuffer<UnigramScratch::Node>& nodes;
  size_t begin, size;

  UnigramScratch::Node& operator[](size_t i) { return nodes[i - begin]; }
  const UnigramScratch::Node& operator[](size_t i) const { return nodes[i - begin]; }
  void extend(size_t last) {
    nodes.reserve(last + 1 - begin, size);
    for (; begin + size <= last; ++size) nodes[size] = {0, kNowhere, 0};
  }
  void move_to(size_t i) {
    size -= i - begin;
    std::copy_n(nodes.data() + (i - begin), size, nodes.data());
    begin = i;
  }
};

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, int32_t unknown)
    : vocabulary_(vocabulary), scores_(std::move(scores)), unknown_(unknown) {
  unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  for (int32_t id = 0; id < vocabulary.end_id(); ++id) {
    if (vocabulary.has(id)) longest_ = std::max(longest_, vocabulary.token(id).size());
  }
}

// Extends the best pieces from those ending at `at` to those ending at `end` or later, up to
// longest_ bytes after it. Returns the first scalar at or after `end`.
size_t Unigram::find_best(std::string_view word, size_t at, size_t end, Window& window) const {
  const DoubleArray& trie = vocabulary_.trie();
  while (at < end) {
    const double score = window[at].score;
    const size_t length = scalar_length(word[at]);
    bool is_piece = false;
    const auto offer = [&](double sum, int32_t id, size_t to) {
      UnigramScratch::Node& node = window[to];
      if (node.begin != kNowhere && !(sum > node.score)) return;
      if (id < 0)
        throw std::runtime_error(fmt::format(
            "'{}' is not in the vocabulary, and model.unk_id is missing", word.substr(at, length)));
      node = {sum, static_cast<int32_t>(at), id};
    };
    trie.for_each_prefix(word.substr(at), [&](int32_t id, size_t size) {
      is_piece = is_piece || size == length;
      offer(scores_[static_cast<size_t>(id)] + score, id, at + size);
    });
    if (!is_piece) offer(unknown_score_ + score, unknown_, at + length);
    at += length;
  }
  return at;
}

// Where the best segmentations that end at `at` or later meet, going back: whatever follows, the
// pieces before that are decided. The window's begin if they do not meet.
size_t Unigram::decided(size_t at, size_t end, const Window& window) {
  std::vector<bool> is_end(end + 1 - window.begin);
  size_t count = 0;
  for (size_t i = at; i <= end; ++i) {
    if (window[i].begin == kNowhere) continue;
    is_end[i - window.begin] = true;
    ++count;
  }
  for (size_t i = end; i > window.begin; --i) {
    if (!is_end[i - window.begin]) continue;
    if (count == 1) return i;
    const size_t before = static_cast<size_t>(window[i].begin) - window.begin;
    if (is_end[before]) --count;
    is_end[before] = true;
  }
  return window.begin;
}

// Appends the best pieces from the window's begin to `end`. Adjacent unknown pieces are one token,
// which is held back until another piece follows.
void Unigram::append(std::string_view word, size_t end, const Window& window,
                     UnigramScratch& scratch, UnigramScratch::Token& unknown,
                     TokenSequence& out) const {
  scratch.tokens.clear();
  for (size_t to = end; to > window.begin;) {
    const auto begin = static_cast<size_t>(window[to].begin);
    scratch.tokens.push_back({window[to].id, begin, to});
    to = begin;
  }
  out.reserve(scratch.tokens.size() + 1);
  for (size_t i = scratch.tokens.size(); i-- > 0;) {
    const UnigramScratch::Token& token = scratch.tokens[i];
    if (token.id != unknown_) {
      push_unknown(word, scratch, unknown, out);
      out.push(token.id, scratch.sources[token.begin], scratch.sources[token.end - 1] + 1);
    } else {
      if (unknown.begin == unknown.end) unknown.begin = token.begin;
      unknown.end = token.end;
    }
  }
}

void Unigram::push_unknown(std::string_view word, const UnigramScratch& scratch,
                           UnigramScratch::Token& unknown, TokenSequence& out) const {
  const auto [none, begin, end] = unknown;
  if (begin == end) return;
  // The joined pieces may themselves be a piece with a very low score.
  const int32_t known = vocabulary_.find(word.substr(begin, end - begin));
  out.notes.spell(out.size, word.substr(begin, end - begin));
  out.push(known != Vocabulary::kNone ? known : unknown_, scratch.sources[begin],
           scratch.sources[end - 1] + 1);
  unknown.begin = unknown.end;
}

// A window of nodes is enough, so a very long word needs little more memory than its tokens.
void Unigram::tokenize(size_t size, UnigramScratch& scratch, TokenSequence& out) const {
  const std::string_view word(scratch.bytes.data(), size);
  Window window{scratch.nodes, 0, 0};
  UnigramScratch::Token unknown{unknown_, 0, 0};
  size_t step = kStep;
  for (size_t at = 0; at < size;) {
    const size_t until = std::min(size, window.begin + step);
    const size_t reached = std::min(size, until + longest_ + kLongestScalar);
    window.extend(reached);
    at = find_best(word, at, until, window);
    const size_t end = at >= size ? size : decided(at, reached, window);
    if (end == window.begin) {
      step *= 2;
      continue;
    }
    append(word, end, window, scratch, unknown, out);
    window.move_to(end);
    step = kStep;
  }
  push_unknown(word, scratch, unknown, out);
}

}  // namespace bert::tokenizer
