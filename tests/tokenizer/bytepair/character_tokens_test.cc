// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/character_tokens.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bert::tokenizer {
namespace {

std::string with_spaces(std::string text, bool has_spaces) {
  const std::string mark = "\u2581";
  for (size_t at = 0; has_spaces && (at = text.find(mark, at)) != std::string::npos; ++at)
    text.replace(at, mark.size(), " ");
  return text;
}

// Ids and lengths in bytes. Throws if the text is not UTF-8.
std::vector<std::pair<int32_t, int32_t>> tokens_of(const CharacterTokens& characters,
                                                   const std::string& text,
                                                   BytePairScratch& scratch) {
  const std::string padded = text + std::string(CharacterTokens::kPadding, 'a');
  const std::string_view all = std::string_view(padded).substr(0, text.size());
  std::vector<WordPart> tokens(text.size());
  std::vector<std::pair<int32_t, int32_t>> out;
  for (size_t at = 0, end = 0; at < all.size(); at = end) {
    end = characters.word_end(all, at);
    const WordPart* const last =
        characters.tokenize(all.substr(at, end - at), scratch, tokens.data());
    if (last == nullptr) throw std::runtime_error("not UTF-8");
    for (const WordPart* part = tokens.data(); part < last; ++part)
      out.emplace_back(part->id, part->length);
  }
  return out;
}

TEST(CharacterTokens, AreThoseOfTheWholeWord) {
  std::mt19937 random(5);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::vector<std::string> letters = {"a", "b",      "\u2581", ",",
                                            "7", "\u00e9", "\u4e2d", "\U0001f600"};
  for (int round = 0; round < 60; ++round) {
    const bool has_spaces = round % 2 == 0;  // in texts, where the vocabulary has a mark
    std::vector<std::string> tokens(letters.begin(), letters.end() - 1);  // the last by its bytes
    const size_t count = tokens.size();
    BytePairOptions options;
    options.byte_fallback = true;
    for (int i = 0; i < 20; ++i) {
      const std::string left = tokens[below(tokens.size())], right = tokens[below(tokens.size())];
      if (std::ranges::count(tokens, left + right) > 0) continue;
      options.merges.emplace_back(left, right);
      tokens.push_back(left + right);
    }
    std::shuffle(options.merges.begin(), options.merges.end(), random);
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(fmt::format("<0x{:02X}>", byte));
    std::vector<std::pair<std::string, int32_t>> entries;
    for (const std::string& token : tokens) {
      entries.emplace_back(token, static_cast<int32_t>(entries.size()));
    }
    const Vocabulary vocabulary(entries, {}, false);
    const BytePair byte_pair(vocabulary, options);
    BytePair fewer(vocabulary, options);
    ASSERT_TRUE(CharacterTokens::suits(vocabulary, byte_pair));
    const CharacterTokens characters(vocabulary, fewer, has_spaces ? "\u2581" : "");
    BytePairScratch scratch, slow;
    std::vector<std::string> words;
    for (int i = 0; i < 200; ++i) {
      std::string& word = words.emplace_back();
      for (size_t j = 1 + below(i % 20 == 0 ? 90 : 12); j > 0; --j) {
        word += letters[below(10) == 0 ? count : below(count)];
      }
    }
    for (int i = 0; i < 50; ++i) words.push_back(words[below(200)]);  // it may know them
    for (const std::string& word : words) {
      byte_pair.tokenize(word, slow);
      std::vector<std::pair<int32_t, int32_t>> wanted;
      size_t at = 0;
      for (const auto& [id, length] : slow.parts) {
        const std::string spelling = with_spaces(word.substr(at, length), has_spaces);
        wanted.emplace_back(id, spelling.size());
        at += static_cast<size_t>(length);
      }
      ASSERT_EQ(tokens_of(characters, with_spaces(word, has_spaces), scratch), wanted) << word;
    }
  }
}

TEST(CharacterTokens, FindWhatIsNotUtf8) {
  std::vector<std::pair<std::string, int32_t>> entries = {{"a", 0}, {"\u00e9", 1}, {"a\u00e9", 2}};
  for (int byte = 0; byte < 256; ++byte)
    entries.emplace_back(fmt::format("<0x{:02X}>", byte), 3 + byte);
  const Vocabulary vocabulary(entries, {}, false);
  BytePair byte_pair(vocabulary, {.merges = {{"a", "\u00e9"}}, .byte_fallback = true});
  const CharacterTokens characters(vocabulary, byte_pair, " ");
  BytePairScratch scratch;
  for (const char* const text : {"\xc3", "a\xc3", "\xa9", "\xa9\xa9\xa9", "a\xc3 a", "\xc3,\xa9",
                                 "a \xe4\xb8 aaa", "\xed\xa0\x80", "aaaaaaaaaaaaaaaaaaaaaaaa\xff"})
    EXPECT_THROW(tokens_of(characters, text, scratch), std::runtime_error) << text;
  EXPECT_EQ(tokens_of(characters, "a\u00e9", scratch).size(), 1);
}

TEST(ScalarCounts, AreOfTheBytesThatBeginOne) {
  ScalarCounts counts(6);
  counts.set(0, "a\u00e9\u4e2d");
  counts.set(1, "\xa9");  // of a character that began before
  counts.set(2, "\xa9\xc3");
  for (const size_t many : {size_t{254}, size_t{255}, size_t{1000}}) {
    const std::string bytes(many, 'a');
    counts.set(3, bytes);
    EXPECT_EQ(counts.of({3, static_cast<int32_t>(many)}, bytes.data()), many);
  }
  EXPECT_EQ(counts.of({0, 6}, "a\u00e9\u4e2d"), 3);
  EXPECT_EQ(counts.of({1, 1}, "\xa9"), 0);
  EXPECT_EQ(counts.of({2, 2}, "\xa9\xc3"), 1);
}

TEST(CharacterTokens, SuitWhereNoCharacterIsUnknown) {
  const BytePairOptions options = {.merges = {{"a", "b"}}, .byte_fallback = true};
  std::vector<std::pair<std::string, int32_t>> entries = {
      {"a", 0}, {"b", 1}, {"\u00e9", 2}, {"ab", 3}};
  for (int byte = 0; byte < 256; ++byte)
    entries.emplace_back(fmt::format("<0x{:02X}>", byte), 4 + byte);
  const auto suits_without = [&](const std::string& byte) {
    auto fewer = entries;
    std::erase_if(fewer, [&](const auto& entry) { return entry.first == byte; });
    const Vocabulary vocabulary(fewer, {}, false);
    return CharacterTokens::suits(vocabulary, BytePair(vocabulary, options));
  };
  EXPECT_TRUE(suits_without(""));
  EXPECT_TRUE(suits_without("<0x61>"));  // that is an "a", which is a token
  EXPECT_FALSE(suits_without("<0x63>"));
  EXPECT_FALSE(suits_without("<0xC3>"));  // of an e with an accent, but not only of that
  entries[0].second = 1;                  // an id of two tokens
  EXPECT_FALSE(suits_without(""));
}

}  // namespace
}  // namespace bert::tokenizer
