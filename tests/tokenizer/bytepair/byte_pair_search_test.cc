// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/merging/byte_pair_search.h"

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace bert::tokenizer {
namespace {

std::vector<std::pair<int32_t, int32_t>> ids_and_lengths(std::span<const WordPart> parts) {
  std::vector<std::pair<int32_t, int32_t>> out;
  for (const auto& [id, length] : parts) out.emplace_back(id, length);
  return out;
}

// Of ranks that ascend from what a merge joins to what it gives, and of others.
TEST(BytePairSearch, FindsWhatMergingGives) {
  std::mt19937 random(11);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  int found = 0, searched = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    BytePairOptions options;
    while (options.merges.size() < 30) {
      const std::string left = tokens[below(tokens.size())], right = tokens[below(tokens.size())];
      if (std::ranges::count(tokens, left + right) > 0 && round % 3 > 0) continue;
      options.merges.emplace_back(left, right);
      tokens.push_back(left + right);
    }
    if (round % 2 == 1) std::shuffle(options.merges.begin(), options.merges.end(), random);
    std::vector<std::pair<std::string, int32_t>> entries;
    for (const std::string& token : tokens) {
      entries.emplace_back(token, static_cast<int32_t>(entries.size()));
    }
    const Vocabulary vocabulary(entries, {}, false);
    const BytePair byte_pair(vocabulary, options);
    BytePair fewer(vocabulary, options);
    std::vector<std::string_view> spellings;
    for (const auto& [token, id] : entries)
      spellings.push_back(vocabulary.find(token) == id ? std::string_view(token) : "");
    const std::vector<int32_t> characters = {vocabulary.find("a"), vocabulary.find("b"),
                                             vocabulary.find("c")};
    const BytePairSearch search(fewer, spellings, characters, vocabulary.trie());
    EXPECT_LE(fewer.merges().size(), tokens.size() - characters.size());  // one per token
    BytePairScratch scratch, others;
    const auto merged = [&](const std::string& word) {
      byte_pair.tokenize(word, scratch);
      fewer.tokenize(word, others);
      EXPECT_EQ(ids_and_lengths(others.parts), ids_and_lengths(scratch.parts)) << word;
      return ids_and_lengths(scratch.parts);
    };
    for (const std::string& token : tokens) {
      const int32_t id = vocabulary.find(token);
      EXPECT_EQ(search.is_made(id), merged(token).size() == 1) << token;
    }
    for (int i = 0; i < 200; ++i) {
      std::string word;
      for (size_t j = 1 + below(40); j > 0; --j) word += static_cast<char>('a' + below(3));
      std::vector<WordPart> out(word.size());
      const WordPart* const end = search.find(word, out.data());
      ++searched;
      if (end == nullptr) continue;
      ++found;
      ASSERT_EQ(ids_and_lengths({out.data(), end}), merged(word)) << word;
    }
    std::vector<WordPart> out(4);
    EXPECT_EQ(search.find("abcd", out.data()), nullptr);  // d has no token
  }
  EXPECT_GT(found, searched / 2);  // the rest is for merging
}

}  // namespace
}  // namespace bert::tokenizer
