// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/merging/byte_pair_search.h"

#include <algorithm>
#include <numeric>

#include "tokenizer/unigram/all_prefixes.h"

namespace bert::tokenizer {

BytePairSearch::BytePairSearch(BytePair& byte_pair, std::span<const std::string_view> spellings,
                               std::span<const int32_t> characters, const DoubleArray& trie)
    : byte_pair_(byte_pair), trie_(trie), nodes_(spellings.size()) {
  for (const int32_t id : characters) {
    nodes_[id].rank = Node::kCharacter;
    nodes_[id].length = static_cast<int32_t>(spellings[id].size());
  }
  find_nodes(spellings);
  BytePairScratch scratch;
  std::vector<bool> happens(byte_pair.merges().size());
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const std::string_view spelling = spellings[id];
    Node& node = nodes_[id];
    if (node.rank == Node::kUnknown) {
      const uint32_t last = last_merge(static_cast<int32_t>(id), spelling, scratch);
      if (last == MergeTable::kNone) {
        node.rank = Node::kUnreachable;
      } else {
        happens[last] = true;
      }
    }
    if (node.rank >= 0) happens[node.rank] = true;
    node.length = static_cast<int32_t>(spelling.size());
    if (spelling.size() < 2) continue;
    trie_.for_each_prefix(spelling.substr(0, spelling.size() - 1),
                          [&](int32_t shorter, size_t) { node.shorter = shorter; });
  }
  keep_merges(happens, byte_pair);
}

void BytePairSearch::keep_merges(const std::vector<bool>& happens, BytePair& byte_pair) {
  byte_pair.keep_merges(happens);
  std::vector<int32_t> ranks(happens.size());
  std::exclusive_scan(happens.begin(), happens.end(), ranks.begin(), 0);
  for (Node& node : nodes_) {
    if (node.rank >= 0) node.rank = ranks[node.rank];
  }
}

// From short tokens to long ones, as a merge's parts are shorter than its result.
void BytePairSearch::find_nodes(std::span<const std::string_view> spellings) {
  const std::vector<BytePair::Merge>& merges = byte_pair_.merges();
  std::vector<size_t> begins(1);
  for (const BytePair::Merge& merge : merges) {
    const size_t length = spellings[merge.whole].size();
    if (begins.size() < length + 2) begins.resize(length + 2);
    ++begins[length + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<int32_t> order(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    order[begins[spellings[merges[rank].whole].size()]++] = static_cast<int32_t>(rank);
  }
  for (const int32_t rank : order) {
    const BytePair::Merge& merge = merges[rank];
    // If a pair has two merges, the last one counts.
    if (byte_pair_.rank(merge.left, merge.right) == static_cast<uint32_t>(rank)) add(merge, rank);
  }
}

// can_meet() needs merges to happen in ascending rank. A token for which they do not, which is
// rare, is kUnknown.
void BytePairSearch::add(const BytePair::Merge& merge, int32_t rank) {
  Node& node = nodes_[merge.whole];
  const int32_t left = nodes_[merge.left].rank, right = nodes_[merge.right].rank;
  if (node.rank >= 0 || left == Node::kUnreachable || right == Node::kUnreachable) return;
  const bool is_known = left != Node::kUnknown && right != Node::kUnknown;
  if (is_known && !can_meet(merge.left, merge.right)) return;
  node.rank = is_known && rank > std::max(left, right) ? rank : Node::kUnknown;
  node.left = merge.left;
  node.right = merge.right;
}

uint32_t BytePairSearch::last_merge(int32_t id, std::string_view spelling,
                                    BytePairScratch& scratch) const {
  std::vector<WordPart>& parts = scratch.parts;
  parts.clear();
  for (size_t at = 0; at < spelling.size(); at += static_cast<size_t>(parts.back().length)) {
    int32_t character = -1;
    trie_.for_each_prefix(spelling.substr(at), [&](int32_t prefix, size_t) {
      if (nodes_[prefix].rank == Node::kCharacter) character = prefix;
    });
    parts.push_back({character, nodes_[character].length});
  }
  const uint32_t last = byte_pair_.merge(scratch);
  return parts.size() == 1 && parts[0].id == id ? last : MergeTable::kNone;
}

// Goes back in time: of the two parts at the border, the one that was merged last is taken apart,
// until both are characters. Two parts that were at the border at the same time would have merged
// if the rank of that came before the ranks of the merges that ended them; of equal ranks, which
// are the same pair, the leftmost comes first.
bool BytePairSearch::can_meet(int32_t left, int32_t right) const {
  uint32_t left_ends = MergeTable::kNone, right_ends = MergeTable::kNone;
  while (true) {
    const Node &before = nodes_[left], &after = nodes_[right];
    if (after.rank >= before.rank) {
      if (after.rank == Node::kCharacter) return true;
      right_ends = static_cast<uint32_t>(after.rank);
      right = after.left;
    } else {
      left_ends = static_cast<uint32_t>(before.rank);
      left = before.right;
    }
    const uint32_t rank = byte_pair_.rank(left, right);
    if (rank < left_ends && rank <= right_ends) return false;
  }
}

bool BytePairSearch::stays_apart(int32_t left, int32_t right) const {
  return byte_pair_.rank(left, right) == MergeTable::kNone && can_meet(left, right);
}

WordPart* BytePairSearch::find(std::string_view word, WordPart* out) const {
  const WordPart* const begin = out;
  const auto longest = [&](size_t at) {
    return trie_.longest_prefix(DoubleArray::kRoot, word.substr(at)).value;
  };
  size_t at = 0;
  int32_t id = longest(0);
  while (true) {
    if (id == DoubleArray::kNone) {  // nothing can follow the previous token
      if (out == begin) return nullptr;
      --out;
      at -= static_cast<size_t>(out->length);
      id = nodes_[out->id].shorter;
      continue;
    }
    const Node& node = nodes_[id];
    if (node.rank == Node::kUnknown) return nullptr;
    if (node.rank == Node::kUnreachable || (out != begin && !stays_apart(out[-1].id, id))) {
      id = node.shorter;
      continue;
    }
    *out++ = {id, node.length};
    at += static_cast<size_t>(node.length);
    if (at == word.size()) return out;
    id = longest(at);
  }
}

}  // namespace bert::tokenizer
