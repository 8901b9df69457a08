// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/merging/byte_pair.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/bytepair/byte_tokens.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string character_of(uint8_t byte) {
  char bytes[4];
  return {bytes, utf8::encode(byte_characters()[byte], bytes)};
}

// A byte-level tokenizer.json with these merges, of characters.
json byte_level(const std::vector<std::pair<std::string, std::string>>& merges) {
  json definition = small_tokenizer({});
  json& model = definition["model"] = {{"type", "BPE"}, {"vocab", {}}, {"merges", json::array()}};
  int id = 0;
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    model["vocab"][special] = id++;
  }
  for (int byte = 0; byte < 256; ++byte) {
    model["vocab"][character_of(static_cast<uint8_t>(byte))] = id++;
  }
  for (const auto& [left, right] : merges) {
    model["vocab"].emplace(left + right, id++);
    model["merges"].push_back({left, right});
  }
  definition["normalizer"] = nullptr;
  definition["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  return definition;
}

std::string pieces_of(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const BytePiece piece = next_byte_piece(text, at);
    if (piece.end == at) return out + "!";
    out += text.substr(at, piece.end - at) + "|";
    EXPECT_EQ(utf8::count_scalars(text.substr(at, piece.end - at)), piece.scalars);
    at = piece.end;
  }
  return out;
}

TEST(ByteLevel, WordsBeginWhereItSplitsTheText) {
  const TestDirectory directory;
  directory.write("tokenizer.json", byte_level({{"a", "b"}}).dump());
  // ab c | , | \u0120 ab | [MASK] | a
  EXPECT_THAT(directory.load().word_begins("abc, ab[MASK]a"),
              ElementsAre(true, false, true, true, false, true, true));
}

TEST(ByteLevel, ItsPrefixSpaceIsThatOfTokenizerJson) {
  const TestDirectory directory;
  directory.write("tokenizer.json", byte_level({{"a", "b"}}).dump());
  directory.write("tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_THAT(
      directory.load().notes(),
      testing::ElementsAre(testing::AllOf(
          testing::HasSubstr("tokenizer_config.json: add_prefix_space is true, but"),
          testing::HasSubstr("tokenizer.json has pre_tokenizer.add_prefix_space false, which"))));
  directory.write("tokenizer_config.json", R"({"add_prefix_space": false, "unk_token": "[UNK]"})");
  EXPECT_THAT(directory.load().notes(), testing::IsEmpty());
  directory.write("tokenizer.json", by_parts(byte_level({{"a", "b"}})).dump());
  EXPECT_THAT(directory.load().notes(), testing::IsEmpty());
}

// As tokenizers 0.23: before the text and after an added token, but for what begins with a space.
TEST(ByteLevel, APrefixSpaceBelongsToTheFirstWord) {
  const TestDirectory directory;
  json definition = byte_level({{"\u0120", "a"}, {"\u0120a", "b"}, {"a", "b"}});
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(tokens_of(directory.load(), "ab ab[MASK]ab"), "ab \u0120ab [MASK] ab");
  definition["pre_tokenizer"]["add_prefix_space"] = true;
  for (const json& each : {definition, by_parts(definition)}) {
    directory.write("tokenizer.json", each.dump());
    const TextEncoder tokenizer = directory.load();
    EXPECT_EQ(tokens_of(tokenizer, "ab ab[MASK]ab"), "\u0120ab \u0120ab [MASK] \u0120ab");
    EXPECT_EQ(tokens_of(tokenizer, " ab"), "\u0120ab");
    EXPECT_EQ(tokens_of(tokenizer, "\tab"), "\u0120 \u0109 ab");
    EXPECT_EQ(offsets_of(tokenizer.encode("ab", std::nullopt, 0)), "0-0 0-2 0-0");
  }
}

TEST(ByteLevel, SplitsAsItsExpression) {
  EXPECT_EQ(pieces_of("I'll say it's 42nd, don't"), "I|'ll| say| it|'s| 42|nd|,| don|'t|");
  EXPECT_EQ(pieces_of("IT'S 'S 'reel ''t've'll"), "IT|'|S| '|S| '|reel| ''|t|'ve|'ll|");
  EXPECT_EQ(pieces_of("a  b \n c\t\td  "), "a| | b| \n| c|\t|\t|d|  |");
  EXPECT_EQ(pieces_of("\u00e9t\u00e9\u00b2\u00a0\u00a0x\u3000!"),
            "\u00e9t\u00e9|\u00b2|\u00a0|\u00a0|x|\u3000|!|");
  EXPECT_EQ(pieces_of(" \xff"), " |!");
  EXPECT_EQ(pieces_of("e\u0301"), "e|\u0301|");
}

TEST(ByteLevel, EveryByteHasACharacter) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = character_of(static_cast<uint8_t>(byte));
    characters.insert(character);
    EXPECT_EQ(bytes_of_token(character), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(character_of(' '), "\u0120");
  EXPECT_EQ(character_of('\n'), "\u010a");
  EXPECT_EQ(bytes_of_token("\u4e00"), std::nullopt);
}

TEST(BytePair, MergesByRank) {
  const TestDirectory directory;
  directory.write("tokenizer.json",
                  byte_level({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"\u0120", "abc"}}).dump());
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(tokens_of(tokenizer, "abc ab abcd"), "abc \u0120 ab \u0120abc d");
  EXPECT_EQ(offsets_of(tokenizer.encode("\u00e9b", std::nullopt, 0)), "0-0 0-1 0-1 1-2 0-0");
}

TEST(BytePair, KeepsWhatTheVocabularyHas) {
  const TestDirectory directory;
  json definition = byte_level({{"a", "b"}, {"c", "d"}});
  definition["model"]["vocab"]["abcd"] = 1000;
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(tokens_of(directory.load(), "abcd"), "ab cd");
  definition["model"]["ignore_merges"] = true;
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(tokens_of(directory.load(), "abcd"), "abcd");
}

// The definition of byte-pair encoding, word by word.
std::vector<int32_t> merge_slowly(std::vector<int32_t> ids,
                                  const std::vector<BytePair::Merge>& merges) {
  while (true) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) best = rank, at = i;
      }
    }
    if (best == merges.size()) return ids;
    ids[at] = merges[best].whole;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(BytePair, IsTheSlowOneOnRandomWords) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    BytePairOptions options;
    while (options.merges.size() < 40) {
      const std::string left = tokens[below(tokens.size())], right = tokens[below(tokens.size())];
      options.merges.emplace_back(left, right);
      tokens.push_back(left + right);
    }
    std::shuffle(options.merges.begin(), options.merges.end(), random);
    std::vector<std::pair<std::string, int32_t>> entries;
    for (const std::string& token : tokens) {
      entries.emplace_back(token, static_cast<int32_t>(entries.size()));
    }
    const Vocabulary vocabulary(entries, {}, false);
    const BytePair byte_pair(vocabulary, options);
    // A pair that is there twice counts where it comes last.
    std::vector<BytePair::Merge> merges = byte_pair.merges();
    for (size_t i = 0; i < merges.size(); ++i) {
      for (size_t j = i + 1; j < merges.size(); ++j) {
        if (merges[i].left == merges[j].left && merges[i].right == merges[j].right)
          merges[i].left = -1;
      }
    }
    BytePairScratch scratch;
    for (const size_t size : {1, 2, 7, 31, 32, 33, 34, 200}) {
      std::string word;
      std::vector<int32_t> ids, got;
      while (word.size() < size) {
        word += tokens[below(3)];
        ids.push_back(vocabulary.find(word.substr(word.size() - 1)));
      }
      for (const bool is_known : {false, true}) {  // as it may be by then
        got.clear();
        byte_pair.tokenize(word, scratch);
        size_t length = 0;
        for (const WordPart& part : scratch.parts) {
          got.push_back(part.id);
          length += static_cast<size_t>(part.length);
        }
        EXPECT_EQ(got, merge_slowly(ids, merges)) << word << is_known;
        EXPECT_EQ(length, size);
      }
    }
  }
}

// A few letters, of one byte in every third round, and of up to four in the others.
std::vector<std::string> letters_of(int round, std::mt19937& random) {
  std::vector<std::string> letters = {"a", "b", "c", "d", "e"};
  if (round % 3 > 0) {
    letters = {"a",      "\u00e9", "\u0441",     "\u044f",     "\u3042",
               "\u3044", "\u4e2d", "\U0001f600", "\U0001f603", "\u00ff"};
  }
  std::shuffle(letters.begin(), letters.end(), random);
  letters.resize(2 + static_cast<size_t>(round) % 4);
  return letters;
}

// Random merges of the letters' bytes, whose results are added to the tokens of all bytes. If
// makes_letters, those that make the letters come first.
std::vector<std::pair<std::string, std::string>> merges_of(const std::vector<std::string>& letters,
                                                           bool makes_letters,
                                                           std::vector<std::string>& tokens,
                                                           std::mt19937& random) {
  std::vector<std::pair<std::string, std::string>> merges;
  const auto merge = [&](const std::string& left, const std::string& right) {
    if (std::ranges::count(tokens, left + right) > 0) return;
    merges.emplace_back(left, right);
    tokens.push_back(left + right);
  };
  std::vector<std::string> bytes;
  for (const std::string& letter : letters) {
    std::string begin;
    for (const char byte : letter) {
      bytes.push_back(character_of(static_cast<uint8_t>(byte)));
      if (!begin.empty() && makes_letters) merge(begin, bytes.back());
      begin += bytes.back();
    }
  }
  const auto pick = [&] {
    std::uniform_int_distribution<size_t> below(0, tokens.size() - 256 + bytes.size() - 1);
    const size_t of = below(random);
    return of < bytes.size() ? bytes[of] : tokens[of - bytes.size() + 256];
  };
  for (int i = 0; i < 60; ++i) {
    const std::string left = pick();
    merge(left, pick());
  }
  return merges;
}

TEST(ByteTokens, AreThoseOfTheSpelledBytes) {
  std::mt19937 random(3);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(character_of(static_cast<uint8_t>(byte)));
    }
    const std::vector<std::string> letters = letters_of(round, random);
    BytePairOptions options;
    options.ignore_merges = round % 2 == 1;
    options.merges = merges_of(letters, round % 4 < 2, tokens, random);
    std::shuffle(options.merges.begin(), options.merges.end(), random);
    tokens.push_back("abcabc");
    std::vector<std::pair<std::string, int32_t>> entries;
    for (const std::string& token : tokens) {
      entries.emplace_back(token, static_cast<int32_t>(entries.size()));
    }
    const Vocabulary vocabulary(entries, {}, false);
    const BytePair byte_pair(vocabulary, options);
    BytePair fewer(vocabulary, options);
    const ByteTokens byte_tokens(vocabulary, fewer, options.ignore_merges);
    BytePairScratch scratch, slow;
    std::vector<std::string> words;
    for (int i = 0; i < 400; ++i) {
      std::string& word = words.emplace_back();
      for (size_t j = 1 + below(i % 40 == 0 ? 80 : i % 4 == 0 ? 50 : 12); j > 0; --j) {
        word += below(20) > 0 ? letters[below(letters.size())]
                              : std::string(1, static_cast<char>('a' + below(26)));
      }
    }
    for (int i = 0; i < 100; ++i) words.push_back(words[below(400)]);  // it may know them
    for (std::string& word : words) {
      const size_t size = word.size();
      std::string spelling;
      for (const char byte : word) spelling += character_of(static_cast<uint8_t>(byte));
      byte_pair.tokenize(spelling, slow);
      std::vector<int32_t> wanted, got;
      for (const WordPart& part : slow.parts) wanted.push_back(part.id);
      word.resize(size + ByteTokens::kPadding);
      const int32_t id = byte_tokens.find(word.data(), size);
      size_t length = id == Vocabulary::kNone ? 0 : size;
      if (id != Vocabulary::kNone) got.push_back(id);
      for (const WordPart& part : length > 0 ? std::span<const WordPart>()
                                             : byte_tokens.merge({word.data(), size}, scratch)) {
        got.push_back(part.id);
        length += static_cast<size_t>(part.length);
      }
      ASSERT_EQ(got, wanted) << word;
      ASSERT_EQ(length, size);
    }
  }
}

TEST(BytePair, TooManyMergesAreRefused) {
  const Vocabulary vocabulary({{"a", 0}, {"aa", 1}}, {}, false);
  BytePairOptions options;
  options.merges.resize(MergeTable::kMaxMerges, {"a", "a"});
  BytePairScratch scratch;
  BytePair(vocabulary, options).tokenize("aaa", scratch);
  EXPECT_EQ(scratch.parts.size(), 2u);
  options.merges.emplace_back("a", "a");
  EXPECT_THAT([&] { BytePair(vocabulary, options); },
              testing::ThrowsMessage<std::runtime_error>(
                  "model.merges: 1048576 merges, expected at most 1048575"));
}

TEST(BytePair, UnknownCharacters) {
  const Vocabulary vocabulary({{"a", 0}, {"?", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}}, {}, false);
  const auto ids = [&](const std::string& word, const BytePairOptions& options) {
    BytePairScratch scratch;
    BytePair(vocabulary, options).tokenize(word, scratch);
    std::string out;
    for (const WordPart& part : scratch.parts) {
      out += std::to_string(part.id) + "x" + std::to_string(part.length) + " ";
    }
    return out;
  };
  EXPECT_EQ(ids("abba", {}), "0x1 0x1 ");
  EXPECT_EQ(ids("abba", {.unknown = "?"}), "0x1 1x1 1x1 0x1 ");
  EXPECT_EQ(ids("abba", {.unknown = "?", .fuse_unknown = true}), "0x1 1x2 0x1 ");
  EXPECT_EQ(ids("a\u00e9b", {.unknown = "?", .byte_fallback = true}), "0x1 2x1 3x1 1x1 ");
  EXPECT_EQ(ids("b\u00e9a", {.unknown = "?", .byte_fallback = true}), "2x1 3x1 1x1 0x1 ");
}

TEST(BytePair, LongWordsTakeNoSquareTime) {
  const TestDirectory directory;
  directory.write("tokenizer.json", byte_level({{"a", "a"}, {"aa", "a"}, {"aa", "aa"}}).dump());
  const TextEncoder tokenizer = directory.load();
  const auto begin = std::chrono::steady_clock::now();
  const Encoding encoding = tokenizer.encode(std::string(1 << 20, 'a'), std::nullopt, 0);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(encoding.ids.size(), (size_t{1} << 18) + 2);
  EXPECT_LT(seconds.count(), 20);  // n^2 would take hours
}

// A line is one word to the regular expression, and its pairs merge over and over.
TEST(BytePair, HostileLinesTakeNoSquareTime) {
  const auto c = [](uint8_t byte) { return character_of(byte); };
  std::vector<std::pair<std::string, std::string>> merges = {
      {c(0xf0), c(0x9f)}, {c(0x98), c(0x80)}, {c(0xf0) + c(0x9f), c(0x98) + c(0x80)}};
  const std::string emoji = merges.back().first + merges.back().second;
  for (const std::string& unit : {c('a'), c(' '), c('7'), emoji}) {
    for (std::string twice = unit; twice.size() < 16 * unit.size(); twice += twice) {
      merges.emplace_back(twice, twice);
    }
  }
  const TestDirectory directory;
  directory.write("tokenizer.json", byte_level(merges).dump());
  const TextEncoder tokenizer = directory.load();
  for (const std::string unit : {"a", " ", "7", "\U0001f600"}) {
    std::string line;
    while (line.size() < size_t{1} << 20) line += unit;
    const auto begin = std::chrono::steady_clock::now();
    const Encoding encoding = tokenizer.encode(line, std::nullopt, 0);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(encoding.ids.size(), line.size() / unit.size() / 16 + 2) << unit;
    EXPECT_LT(seconds.count(), 20) << unit;  // n^2 would take hours
  }
}

TEST(BytePair, WhatALlamaTokenizerLeavesOutIsNoted) {
  const TestDirectory directory;
  json definition = byte_level({});
  for (const auto& [normalizer, type, notes] :
       {std::tuple(R"({"type": "NFC"})", "llama", size_t{1}),
        {"null", "llama", size_t{0}},
        {R"({"type": "NFC"})", "mistral", size_t{0}}}) {
    definition["normalizer"] = json::parse(normalizer);
    directory.write("tokenizer.json", definition.dump());
    directory.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast"})");
    directory.write("config.json", json{{"model_type", type}}.dump());
    EXPECT_EQ(directory.load().notes().size(), notes) << type;
  }
}

}  // namespace
}  // namespace bert::tokenizer
