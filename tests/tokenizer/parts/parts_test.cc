// SPDX-License-Identifier: Apache-2.0
//
// The pipeline for any tokenizer.json, against the fast ones on what both can do; and what it
// refuses. combinations_test.py compares it with Hugging Face's.
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/tokenizer/parts/definitions.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

std::string error_of_definition(const json& definition) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.error();
}

std::string some_text(std::mt19937& random) {
  const std::vector<std::string> words = {"the",     "ab",
                                          "abc",     " ",
                                          "  ",      "\n",
                                          "1",       "22",
                                          "!",       "[MASK]",
                                          "<x>",     "don't",
                                          "A",       "\u00e9",
                                          "e\u0301", "\u0130",
                                          "\u4e2d",  "\ud55c",
                                          "\u2581",  "\ufb01",
                                          "\t",      "\u00a0",
                                          "#",       "##b",
                                          "\u200b",  "\u1112\u1161\u11ab",
                                          "'S",      "'\u017f",
                                          "\r\n",    "'ll"};
  std::string text;
  for (size_t i = random() % 20; i > 0; --i) {
    const auto any = static_cast<char32_t>(random() % 0xd800);
    text += random() % 8 == 0 ? scalar_of(any) : words[random() % words.size()];
  }
  return text;
}

void expect_twins(json definition) {
  for (const bool normalized : {false, true}) {
    json token = added_token(normalized ? "<x>" : "the", 1000);
    token["normalized"] = token["lstrip"] = token["rstrip"] = normalized;
    definition["added_tokens"].push_back(token);
  }
  EXPECT_FALSE(runs_by_parts(definition));
  EXPECT_TRUE(runs_by_parts(by_parts(definition)));
  const TextEncoder fast = load_definition(definition),
                    slow = load_definition(by_parts(definition));
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const std::string first = some_text(random), second = some_text(random);
    const int most = i % 2 == 0 ? 0 : static_cast<int>(8 + random() % 20);
    const auto pair = i % 3 == 0 ? std::optional<std::string_view>(second) : std::nullopt;
    const Encoding a = fast.encode(first, pair, most), b = slow.encode(first, pair, most);
    ASSERT_EQ(a.ids, b.ids) << testing::PrintToString(first);
    ASSERT_EQ(offsets_of(a), offsets_of(b)) << testing::PrintToString(first);
    ASSERT_EQ(a.truncated, b.truncated) << testing::PrintToString(first);
    ASSERT_EQ(fast.strings(first, pair, most), slow.strings(first, pair, most)) << first;
  }
}

const std::vector<std::string> kPieces = {"ab",       "abc",    "c",   "t",   "he",  "the",
                                          "\u00e9",   "1",      "!",   "##b", "##c", "##he",
                                          "##\u0301", "\u4e2d", "don", "'"};

TEST(Parts, AreTheTwinOfWordPiece) {
  for (const bool lowercase : {false, true}) {
    json definition = small_tokenizer(kPieces);
    definition["normalizer"]["lowercase"] = lowercase;
    expect_twins(definition);
  }
}

TEST(Parts, AreTheTwinOfUnigram) {
  json definition = small_tokenizer({});
  json& vocab = (definition["model"] = {{"type", "Unigram"}, {"unk_id", 1}})["vocab"];
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    vocab.push_back({special, 0.0});
  }
  for (const std::string& piece : kPieces) {
    vocab.push_back({piece, -1.5 - 0.25 * static_cast<double>(vocab.size())});
    vocab.push_back({"\u2581" + piece, -1.0 - 0.25 * static_cast<double>(vocab.size())});
  }
  definition["normalizer"] = json::parse(R"({"type": "Sequence", "normalizers": [{"type": "NFKC"},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Lowercase"},
      {"type": "Strip", "strip_left": true, "strip_right": true}]})");
  for (const char* scheme : {"always", "first", "never"}) {
    definition["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
    expect_twins(definition);
  }
}

TEST(Parts, AreTheTwinOfByteLevel) {
  json definition = byte_level_tokenizer();
  for (const bool prefix : {false, true}) {
    definition["normalizer"] = prefix ? json(nullptr) : json{{"type", "NFC"}};
    definition["pre_tokenizer"] = {
        {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}};
    expect_twins(definition);
  }
}

// Every scalar beside others of each kind.
void expect_twins_at_every_scalar(const json& definition) {
  expect_twins(definition);
  const TextEncoder fast = load_definition(definition),
                    slow = load_definition(by_parts(definition));
  std::string text;
  for (char32_t c = 0; c < 0x34000; ++c) {  // there are no letters or numbers behind
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::string s = scalar_of(c);
    for (const char* before : {"a", "'", "'r", "'L", " ", "\n", "1", "!"}) text += before + s;
    text += s + "a" + s + s + " " + s + "\r\n" + s + "  " + s + "12";
    if (c % 64 != 63) continue;
    // Sanitizers look at how memory is used, which is much the same for all.
    if (!SANITIZED || c / 64 % 8 == 0) {
      ASSERT_EQ(fast.encode(text, std::nullopt, 0).ids, slow.encode(text, std::nullopt, 0).ids)
          << static_cast<uint32_t>(c);
    }
    text.clear();
  }
}

// In the fast pipeline by hand, in the other one by Oniguruma.
TEST(Parts, AreTheTwinOfCommonSplits) {
  for (const std::string_view expression : {kThreeDigitsExpression, kOneDigitExpression}) {
    const json split = {{"type", "Split"},
                        {"pattern", {{"Regex", expression}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    expect_twins_at_every_scalar(cut_bytes(split, false));
  }
}

TEST(Parts, AreTheTwinOfSingleDigits) {
  expect_twins_at_every_scalar(cut_bytes({{"type", "Digits"}, {"individual_digits", true}}, true));
}

json word_level(const std::vector<std::string>& words, const json& pre_tokenizer) {
  json definition = small_tokenizer(words);
  definition["normalizer"] = nullptr;
  definition["pre_tokenizer"] = pre_tokenizer;
  definition["model"] = {
      {"type", "WordLevel"}, {"unk_token", "[UNK]"}, {"vocab", definition["model"]["vocab"]}};
  return definition;
}

json split_at(const std::string& expression, const char* behavior) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", expression}}},
          {"behavior", behavior},
          {"invert", false}};
}

TEST(Parts, SplitDoesWithMatchesWhatItsBehaviorSays) {
  const std::vector<std::string> all = {"a", "-", "b", "--", "a-", "b-", "-b", "-a", "a--"};
  for (const auto& [behavior, expected] :
       std::vector<std::pair<const char*, const char*>>{{"Removed", "a b a"},
                                                        {"Isolated", "a - b - - a"},
                                                        {"MergedWithPrevious", "a- b- - a"},
                                                        {"MergedWithNext", "a -b - -a"},
                                                        {"Contiguous", "a - b -- a"}}) {
    const TextEncoder tokenizer = load_definition(word_level(all, split_at("[-]", behavior)));
    EXPECT_EQ(tokens_of(tokenizer, "a-b--a"), expected) << behavior;
  }
}

// Whatever the installed Oniguruma knows: a letter of Unicode 16, an emoji of 15, and old ones.
TEST(Parts, CategoriesAreThoseOfHuggingFace) {
  const std::string letter = "\U00011380", emoji = "\U0001fa77";
  const std::vector<std::string> all = {"a", "A", "1", "$", letter, emoji};
  for (const auto& [expression, expected] : std::vector<std::pair<const char*, std::string>>{
           {R"(\P{Lo})", letter},
           {R"([\p{Lu}\p{^Ll}])", "a"},
           {R"(\p{Lu}|\p{Ll}|\p{N}|\p{S})", letter},
           {R"([^\p{S}])", "$ " + emoji},
           {R"(\P{^Other_Letter}|\p{so})", "a A 1 $"},
           {R"(\p{Cn}|\p{Letter})", "1 $ " + emoji},
           {"[[:punct:]]", "a A 1 " + letter},
           {"[^a[:punct:]]", "a $ " + emoji},
           {"[]1[:^punct:]]", "$ " + emoji},
           {R"(\[|[^]\[[:punct:]A])", "A $ " + emoji},
           {"[:punct:]|a", "A 1 $ " + letter + " " + emoji}}) {
    const TextEncoder tokenizer = load_definition(word_level(all, split_at(expression, "Removed")));
    std::string found;
    for (const std::string& one : all) {
      const std::string tokens = tokens_of(tokenizer, one);
      if (!tokens.empty()) found += (found.empty() ? "" : " ") + tokens;
    }
    EXPECT_EQ(found, expected) << expression;
  }
}

TEST(Parts, SayWhatIsWrongAndWhere) {
  json broken = word_level({}, split_at("(", "Removed"));
  EXPECT_EQ(error_of_definition(broken),
            "tokenizer.json: pre_tokenizer.pattern.Regex: not a valid Oniguruma expression: "
            "end pattern with unmatched parenthesis");
  EXPECT_THAT(error_of_definition(word_level({}, split_at("a", "Kept"))),
              HasSubstr("pre_tokenizer.behavior: found \"Kept\", expected \"Removed\", "));
  EXPECT_THAT(error_of_definition(word_level({}, {{"type", "UnicodeScripts"}})),
              HasSubstr("pre_tokenizer.type: found \"UnicodeScripts\", expected "));
  EXPECT_EQ(
      error_of_definition(word_level({}, split_at(std::string(65536, 'a') + "+", "Removed"))),
      "tokenizer.json: pre_tokenizer.pattern.Regex: the expression has 65537 bytes, expected at "
      "most 65536");
  // An escaped backslash begins no property.
  EXPECT_EQ(tokens_of(load_definition(word_level({"x", "y"}, split_at(R"(\\p{L})", "Removed"))),
                      R"(x\p{L}y)"),
            "x y");
  json nested = split_at("a", "Removed");
  for (int i = 0; i < 8; ++i) nested = {{"type", "Sequence"}, {"pretokenizers", {nested}}};
  EXPECT_EQ(error_of_definition(word_level({}, nested)), "");
  nested = {{"type", "Sequence"}, {"pretokenizers", {nested}}};
  EXPECT_THAT(error_of_definition(word_level({}, nested)), HasSubstr("are nested too deeply"));
}

// Each doubles the text.
TEST(Parts, AChainOfReplacementsIsNotEndless) {
  json chain = json::array(), template_ids = json::array(), tokens = json::array();
  for (int i = 0; i < 40; ++i) {
    chain.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  }
  json definition = word_level({"a"}, {{"type", "WhitespaceSplit"}});
  definition["normalizer"] = {{"type", "Sequence"}, {"normalizers", chain}};
  EXPECT_THAT(error_of_text(definition, "a"), HasSubstr("normalizers make the text too long"));
  definition["model"] = {
      {"type", "Unigram"}, {"unk_id", 0}, {"vocab", json::array({json::array({"<unk>", 0.0})})}};
  definition["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  definition["added_tokens"] = json::array();
  definition["post_processor"] = nullptr;
  EXPECT_THAT(error_of_text(definition, "a"), HasSubstr("normalizers make the text too long"));
  json decoded = word_level({"a"}, {{"type", "WhitespaceSplit"}});
  decoded["decoder"] = {{"type", "Sequence"}, {"decoders", chain}};
  const TextEncoder decoder = load_definition(decoded);
  EXPECT_THROW(decoder.decode(std::vector<int32_t>{decoder.find("a")}, true), std::runtime_error);
  for (int i = 0; i < 70000; ++i) {
    template_ids.push_back(0);
    tokens.push_back("[PAD]");
  }
  decoded["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}}}},
      {"pair", json::array()},
      {"special_tokens", {{"x", {{"id", "x"}, {"ids", template_ids}, {"tokens", tokens}}}}}};
  EXPECT_THAT(error_of_definition(decoded), HasSubstr("have more than 65536 special tokens"));
}

// As in Hugging Face's tokenizers: added tokens do not count.
TEST(Parts, UnknownTokensMayBeMissingUntilTheyAreNeeded) {
  const json word_piece = small_tokenizer({"a"});
  json bytes = byte_level_tokenizer();
  bytes["model"]["vocab"]["<q>"] = bytes["model"]["vocab"]["q"];
  bytes["model"]["vocab"].erase("q");
  for (json definition :
       {word_piece, by_parts(word_piece), word_level({"a"}, nullptr), bytes, by_parts(bytes)}) {
    definition["model"]["unk_token"] = "<unk>";
    definition["added_tokens"].push_back(added_token("<unk>", 1000));
    EXPECT_EQ(tokens_of(load_definition(definition), "a<unk>a"), "a <unk> a");
    EXPECT_THAT(
        error_of_text(definition, "q"),
        EndsWith("/tokenizer.json: a word of the text is not in the vocabulary, and neither "
                 "is the unknown token \"<unk>\""));
  }
}

// Seconds of this thread until an expression is given up.
double seconds_until_given_up(const std::string& expression, const std::string& text) {
  const auto seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = seconds();
  EXPECT_THAT(error_of_text(word_level({}, split_at(expression, "Removed")), text),
              HasSubstr("a regular expression of the tokenizer takes too long on this text"))
      << expression;
  return seconds() - begin;
}

// Exponential if tried to the end, and quadratic: neither may take longer than a text deserves,
// 1 s and 4 µs a byte, and about a second more until it is seen.
TEST(Parts, LimitWhatAnExpressionMayTry) {
  const std::string many(100'000, 'a');
  EXPECT_LT(seconds_until_given_up("(a+)+b", many.substr(0, 60)), 6);
  EXPECT_LT(seconds_until_given_up("a(?=a*c)", many), 6);
  const std::string far = std::string(20'000, 'b') + many;
  EXPECT_LT(seconds_until_given_up("\\Ga|b(?=b*a*c)", far + "xc"), 6);  // by whole searches
  EXPECT_LT(seconds_until_given_up("(?:b|a(?=a*c))*d", far + "xcd"), 6);
}

// Where a match is far away or long, the search goes on by positions and with more retries.
TEST(Parts, FindWhatTakesManyRetries) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "ab\u00e9";
  const TextEncoder far =
      load_definition(word_level({text + "a", "b\u00e9c"}, split_at("(?:b\u00e9)?c", "Isolated")));
  EXPECT_TRUE(far.encode(text + "ab\u00e9c", std::nullopt, 0).ids ==
              std::vector<int32_t>({2, 5, 6, 3}));
  const TextEncoder whole =
      load_definition(word_level({text + "c", "x"}, split_at("(?:a|b|\u00e9)+c", "Isolated")));
  EXPECT_TRUE(whole.encode(text + "cx", std::nullopt, 0).ids == std::vector<int32_t>({2, 5, 6, 3}));
}

}  // namespace
}  // namespace bert::tokenizer
