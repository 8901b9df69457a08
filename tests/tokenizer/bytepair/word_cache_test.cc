// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/merging/word_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/bytepair/scalar_joints.h"

namespace bert::tokenizer {
namespace {

using Parts = std::vector<std::pair<int32_t, int32_t>>;

WordCache::Key key_of(uint64_t owner, const std::string& word) {
  if (word.size() > ShortWord::kMaxSize) return {owner, std::string_view(word)};
  return {owner, ShortWord::of(word)};
}

// More words than it has room for: some are forgotten, but none has another's tokens.
TEST(WordCache, RemembersOrForgets) {
  std::mt19937 random(11);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  WordCache cache;
  std::map<std::pair<uint64_t, std::string>, Parts> kept;
  std::vector<std::pair<uint64_t, std::string>> words;
  size_t known = 0, late = 0, lately_known = 0;
  for (int i = 0; i < 400'000; ++i) {
    const bool is_new = words.empty() || below(3) > 0;
    if (is_new) {
      std::string word(1 + below(WordCache::kMaxSize), '\0');
      for (char& c : word) c = static_cast<char>(below(below(2) == 0 ? 2 : 256));
      words.emplace_back(1 + below(3), word);
    }
    const bool is_late = !is_new && below(2) == 0;
    const auto& [owner, word] =
        is_late ? words[words.size() - 1 - below(std::min<size_t>(words.size(), 100))]
                : words[is_new ? words.size() - 1 : below(words.size())];
    const WordCache::Key key = key_of(owner, word);
    std::array<WordPart, WordCache::kMaxParts> out;
    const WordPart* const end = cache.recall(key, out.data());
    const auto before = kept.find({owner, word});
    late += is_late;
    if (end != nullptr) {
      ++known;
      lately_known += is_late;
      Parts got;
      for (const WordPart* part = out.data(); part < end; ++part) {
        got.emplace_back(part->id, part->length);
      }
      ASSERT_TRUE(before != kept.end());
      ASSERT_EQ(got, before->second);
      continue;
    }
    std::vector<WordPart> parts(1 + below(WordCache::kMaxParts));
    Parts& now = kept[{owner, word}];
    now.clear();
    for (WordPart& part : parts) {
      part = {static_cast<int32_t>(below(1 << 30)), static_cast<int32_t>(below(48))};
      now.emplace_back(part.id, part.length);
    }
    cache.keep(key, parts);
  }
  EXPECT_GT(known, 70'000u);
  EXPECT_LT(known, 130'000u);  // the rest have been forgotten
  EXPECT_GT(lately_known, late * 98 / 100);
}

TEST(WordCache, KeepsNoWordOfManyTokens) {
  WordCache cache;
  std::array<WordPart, WordCache::kMaxParts + 1> parts = {};
  const WordCache::Key key = key_of(1, "word");
  EXPECT_EQ(cache.recall(key, parts.data()), nullptr);
  cache.keep(key, parts);
  EXPECT_EQ(cache.recall(key, parts.data()), nullptr);
  cache.keep(key, std::span(parts).first(WordCache::kMaxParts));
  EXPECT_EQ(cache.recall(key, parts.data()), parts.data() + WordCache::kMaxParts);
  EXPECT_EQ(cache.recall(key_of(2, "word"), parts.data()), nullptr);
}

// Where a word was, another comes to lie that has the first one's entry among its bytes.
TEST(WordCache, TakesNothingForAWordThatWasOverwritten) {
  WordCache cache;
  std::array<WordPart, WordCache::kMaxParts> out;
  const WordCache::Key first = key_of(1, "first"), word = key_of(1, "word");
  const std::array<WordPart, 1> parts = {{{7, 4}}};
  EXPECT_EQ(cache.recall(word, out.data()), nullptr);
  cache.keep(first, parts);
  cache.keep(word, parts);
  EXPECT_NE(cache.recall(word, out.data()), nullptr);
  const std::array<uint64_t, 6> forged = {0, 0, word.head | 1, word.chunks[0], 9, 0};
  std::string bytes(sizeof forged, '\0');
  std::memcpy(bytes.data(), forged.data(), bytes.size());
  for (int i = 0; i < 100'000; ++i) {
    cache.keep(key_of(1, bytes), parts);
    ASSERT_TRUE(cache.recall(word, out.data()) == nullptr || out[0].id == 7);
  }
  EXPECT_EQ(cache.recall(word, out.data()), nullptr);
  EXPECT_NE(cache.recall(key_of(1, bytes), out.data()), nullptr);
}

TEST(ScalarJoints, HasAllOfItsPairsAndFewOthers) {
  std::mt19937 random(13);
  for (const char32_t end : {0x800u, 0x3000u, 0x110000u}) {
    std::uniform_int_distribution<char32_t> scalar(0, end - 1);
    std::map<ScalarJoints::Pair, bool> known;
    while (known.size() < 20'000) known[{scalar(random), scalar(random)}] = true;
    std::vector<ScalarJoints::Pair> pairs;
    for (const auto& [pair, is_known] : known) pairs.push_back(pair);
    const ScalarJoints joints(pairs);
    for (const auto& [left, right] : pairs) EXPECT_TRUE(joints.has(left, right));
    int others = 0;
    for (int i = 0; i < 100'000; ++i) {
      const ScalarJoints::Pair pair = {scalar(random), scalar(random)};
      others += !known.contains(pair) && joints.has(pair.first, pair.second);
    }
    EXPECT_LE(others, end == 0x800 ? 0 : 1000);
  }
  EXPECT_FALSE(ScalarJoints().has('a', 0x4e2d));
}

}  // namespace
}  // namespace bert::tokenizer
