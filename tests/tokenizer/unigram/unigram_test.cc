// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/unigram.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/token_sequence.h"

namespace bert::tokenizer {
namespace {

constexpr int32_t kUnknown = 0;

struct Pieces {
  std::vector<std::pair<std::string, int32_t>> entries;
  std::vector<double> scores;
};

Pieces random_pieces(std::mt19937& random) {
  Pieces pieces{{{"<unk>", kUnknown}}, {0}};
  for (const char* letter : {"a", "b"}) pieces.entries.push_back({letter, 0});
  for (int i = 0; i < 30; ++i) {
    std::string piece(2 + random() % 9, ' ');
    for (char& c : piece) c = "abc"[random() % 3];  // c alone is unknown
    pieces.entries.push_back({piece, 0});
  }
  std::sort(pieces.entries.begin() + 1, pieces.entries.end());
  pieces.entries.erase(std::unique(pieces.entries.begin(), pieces.entries.end()),
                       pieces.entries.end());
  pieces.scores.resize(pieces.entries.size());
  for (size_t i = 1; i < pieces.entries.size(); ++i) {
    pieces.entries[i].second = static_cast<int32_t>(i);
    // Whole numbers are often equal.
    pieces.scores[i] = -static_cast<double>(random() % 12 + pieces.entries[i].first.size());
  }
  return pieces;
}

// The whole word at once, and every piece tried everywhere.
std::vector<int32_t> slow_ids(const Pieces& pieces, const std::string& word) {
  struct Best {
    double score = 0;
    size_t begin = 0;
    int32_t id = -1;
  };
  const double unknown = *std::min_element(pieces.scores.begin(), pieces.scores.end()) - 10;
  std::vector<Best> best(word.size() + 1);
  for (size_t at = 0; at < word.size(); ++at) {
    const auto offer = [&](double score, size_t size, int32_t id) {
      Best& node = best[at + size];
      if (node.id < 0 || score + best[at].score > node.score) {
        node = {score + best[at].score, at, id};
      }
    };
    bool is_piece = false;
    for (size_t i = 1; i < pieces.entries.size(); ++i) {
      const std::string& piece = pieces.entries[i].first;
      if (word.compare(at, piece.size(), piece) != 0) continue;
      offer(pieces.scores[i], piece.size(), static_cast<int32_t>(i));
      is_piece = is_piece || piece.size() == 1;
    }
    if (!is_piece) offer(unknown, 1, kUnknown);
  }
  std::vector<int32_t> ids;
  for (size_t end = word.size(); end > 0; end = best[end].begin) {
    if (best[end].id == kUnknown && !ids.empty() && ids.back() == kUnknown) continue;
    ids.push_back(best[end].id);
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

TEST(Unigram, LongWordsAreSplitAsIfSeenWhole) {
  std::mt19937 random(11);
  for (const size_t size : {1, 7, 100, 65535, 65536, 65537, 200000, 300001}) {
    const Pieces pieces = random_pieces(random);
    const Vocabulary vocabulary(pieces.entries, "", false);
    const Unigram unigram(vocabulary, pieces.scores, kUnknown);
    std::string word(size, ' ');
    // A long stretch of one letter keeps several ways open for long.
    for (size_t i = 0; i < size; ++i) word[i] = i / 70000 % 2 == 1 ? 'a' : "abc"[random() % 3];
    UnigramScratch scratch;
    scratch.bytes.reserve(size);
    scratch.sources.reserve(size);
    std::copy(word.begin(), word.end(), scratch.bytes.data());
    std::iota(scratch.sources.data(), scratch.sources.data() + size, 0);
    TokenSequence got;
    unigram.tokenize(size, scratch, got);
    ASSERT_EQ(std::vector<int32_t>(got.ids.data(), got.ids.data() + got.size),
              slow_ids(pieces, word))
        << size;
    int32_t end = 0;
    for (size_t i = 0; i < got.size; ++i) {
      ASSERT_EQ(got.offsets[i].begin, end);
      end = got.offsets[i].end;
    }
    ASSERT_EQ(end, static_cast<int32_t>(size));
  }
}

}  // namespace
}  // namespace bert::tokenizer
