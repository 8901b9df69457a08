// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/unigram.h"

#include <algorithm>

#include "tokenizer/token_sequence.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr double kUnknownPenalty = 10;
constexpr int32_t kNowhere = -1;

// The length of the scalar that begins with this byte of well-formed UTF-8.
size_t scalar_length(char byte) {
  const auto lead = static_cast<uint8_t>(byte);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

}  // namespace

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, int32_t unknown)
    : vocabulary_(vocabulary), scores_(std::move(scores)), unknown_(unknown) {
  unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
}

// nodes[i]: the best pieces for the first i bytes.
void Unigram::find_best(std::string_view word, UnigramScratch::Node* nodes) const {
  for (size_t i = 0; i <= word.size(); ++i) nodes[i] = {0, kNowhere, 0};
  const DoubleArray& trie = vocabulary_.trie();
  for (size_t at = 0; at < word.size();) {
    const double score = nodes[at].score;
    const size_t length = scalar_length(word[at]);
    bool is_piece = false;
    const auto offer = [&](double sum, int32_t id, size_t end) {
      UnigramScratch::Node& node = nodes[end];
      if (node.begin != kNowhere && !(sum > node.score)) return;
      node = {sum, static_cast<int32_t>(at), id};
    };
    trie.for_each_prefix(word.substr(at), [&](int32_t id, size_t size) {
      is_piece = is_piece || size == length;
      offer(scores_[static_cast<size_t>(id)] + score, id, at + size);
    });
    if (!is_piece) offer(unknown_score_ + score, unknown_, at + length);
    at += length;
  }
}

void Unigram::tokenize(size_t size, UnigramScratch& scratch, TokenSequence& out) const {
  const std::string_view word(scratch.bytes.data(), size);
  scratch.nodes.reserve(size + 1);
  find_best(word, scratch.nodes.data());
  scratch.tokens.clear();
  bool before_unknown = false;  // this goes from right to left
  for (size_t end = size; end > 0;) {
    const UnigramScratch::Node& node = scratch.nodes[end];
    const auto begin = static_cast<size_t>(node.begin);
    const bool is_unknown = node.id == unknown_;
    if (is_unknown && before_unknown) {
      scratch.tokens.back().begin = begin;
    } else {
      scratch.tokens.push_back({node.id, begin, end});
    }
    before_unknown = is_unknown;
    end = begin;
  }
  out.reserve(scratch.tokens.size());
  for (size_t i = scratch.tokens.size(); i-- > 0;) {
    auto [id, begin, end] = scratch.tokens[i];
    if (id == unknown_) {  // joined, it may still be a piece with a very low score
      const int32_t known = vocabulary_.find(word.substr(begin, end - begin));
      if (known != Vocabulary::kNone) id = known;
    }
    out.push(id, scratch.sources[begin], scratch.sources[end - 1] + 1);
  }
}

}  // namespace bert::tokenizer
