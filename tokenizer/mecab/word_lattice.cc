// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/mecab/word_lattice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr uint32_t kNoNode = UINT32_MAX;
constexpr size_t kAny = std::numeric_limits<size_t>::max();
constexpr size_t kMaxGroup = 24;  // characters after the first one of an unknown word
constexpr size_t kManyNodes = 1 << 16;
constexpr MecabWord kEdge{};  // what is before and after a text: class 0

}  // namespace

CharacterKind WordLattice::kind_at(size_t at, size_t& size) const {
  size_t end = at;
  const char32_t c = utf8::decode(text_.data(), end);
  size = end - at;
  return dictionary_.kind(c);
}

// The end of a run of characters, each of which is of one kind with the one before it: at most
// `most` of them.
size_t WordLattice::skip_kind(size_t at, CharacterKind kind, size_t most) const {
  for (size_t count = 0, size = 0; at < text_.size() && count < most; at += size, ++count) {
    const CharacterKind next = kind_at(at, size);
    if (!kind.is_kind_of(next)) break;
    kind = next;
  }
  return at;
}

void WordLattice::add(Span span, std::span<const MecabWord> words) {
  for (const MecabWord& word : words) candidates_.push_back({0, kNoNode, kNoNode, span, word});
}

// Unknown words: the run of characters of one kind, and one to length() of its characters.
void WordLattice::add_unknown(size_t begin, CharacterKind kind, size_t size) {
  const std::span<const MecabWord> words = dictionary_.unknown(kind);
  const size_t first_end = begin + size;
  size_t group_end = 0;
  if (kind.groups()) {
    group_end = skip_kind(first_end, kind, kMaxGroup + 1);
    const auto count = utf8::count_scalars(text_.substr(first_end, group_end - first_end));
    if (count <= kMaxGroup) add({begin, group_end}, words);
  }
  size_t end = first_end;
  for (size_t count = 1; count <= kind.length() && end != group_end; ++count) {
    add({begin, end}, words);
    if (end == text_.size() || !kind.is_kind_of(kind_at(end, size))) break;
    end += size;
  }
  if (candidates_.empty()) add({begin, end}, words);
}

// Finds every word that may follow a word that ends at `at`.
void WordLattice::add_candidates(size_t at) {
  candidates_.clear();
  const size_t begin = skip_kind(at, dictionary_.space(), kAny);
  if (begin == text_.size()) return;
  dictionary_.words().prefixes(
      text_.substr(begin), [&](size_t length, std::span<const MecabWord> words) {
        const size_t end = begin + length;
        if (length == 0 || (end < text_.size() && utf8::is_continuation(text_[end]))) return;
        for (const MecabWord& word : words) dictionary_.check(word);
        add({begin, end}, words);
      });
  size_t size = 0;
  const CharacterKind kind = kind_at(begin, size);
  if (candidates_.empty() || kind.always_unknown()) add_unknown(begin, kind, size);
}

uint32_t WordLattice::best_before(const MecabWord& word, int64_t& cost) const {
  const std::span<const int16_t> costs = dictionary_.costs_before(word);
  uint32_t best = kNoNode;
  for (const Before& before : before_) {
    const int64_t sum = before.cost + costs[before.right];
    if (best == kNoNode || sum < cost) best = before.node, cost = sum;
  }
  cost += word.cost;
  return best;
}

void WordLattice::collect_before(size_t at) {
  before_.clear();
  for (uint32_t i = ends_[at]; i != kNoNode; i = nodes_[i].next_end) {
    before_.push_back({nodes_[i].cost, i, nodes_[i].word.right});
  }
}

// Among equal costs MeCab takes the candidate that was found first, and of those before it the one
// that was found last.
void WordLattice::connect(size_t at) {
  collect_before(at);
  for (auto node = candidates_.rbegin(); node != candidates_.rend(); ++node) {
    uint32_t& end = ends_[node->span.end];
    node->previous = best_before(node->word, node->cost);
    node->next_end = std::exchange(end, static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(*node);
  }
}

// Drops the nodes that are on no best path to a position from `at` on: in a long text, all but one
// path, up to shortly before `at`.
void WordLattice::forget(size_t at) {
  places_.assign(nodes_.size(), kNoNode);
  for (size_t i = nodes_.size(); i-- > 0;) {
    const bool is_needed = places_[i] != kNoNode || nodes_[i].span.end >= at;
    if (!is_needed) continue;
    places_[i] = 0;
    if (nodes_[i].previous != kNoNode) places_[nodes_[i].previous] = 0;
  }
  const auto move = [&](uint32_t& node) {
    if (node != kNoNode) node = places_[node];
  };
  uint32_t kept = 0;
  size_t furthest = at;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (places_[i] == kNoNode) continue;
    places_[i] = kept;
    Node& node = nodes_[kept++] = nodes_[i];
    furthest = std::max(furthest, node.span.end);
    move(node.previous);
    move(node.next_end);
  }
  nodes_.resize(kept);
  for (size_t end = at; end <= furthest; ++end) move(ends_[end]);
}

std::vector<WordLattice::Span> WordLattice::words(std::string_view text) {
  text_ = text;
  nodes_.assign(1, {0, kNoNode, kNoNode, {0, 0}, kEdge});
  ends_.assign(text.size() + 1, kNoNode);
  ends_[0] = 0;
  size_t last = 0, most_nodes = kManyNodes;
  for (size_t at = 0; at < text.size(); ++at) {
    if (ends_[at] == kNoNode) continue;
    last = at;
    if (nodes_.size() > most_nodes) {
      forget(at);
      most_nodes = 2 * nodes_.size() + kManyNodes;
    }
    add_candidates(at);
    connect(at);
  }
  if (ends_[text.size()] != kNoNode) last = text.size();
  std::vector<Span> found;
  int64_t cost = 0;
  collect_before(last);
  for (uint32_t i = best_before(kEdge, cost); i != 0; i = nodes_[i].previous) {
    found.push_back(nodes_[i].span);
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace bert::tokenizer
