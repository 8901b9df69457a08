// SPDX-License-Identifier: Apache-2.0
//
// tests/tokenizer/parts/combinations_test.py compares with Hugging Face's tokenizers.
#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/text_encoder.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

TextEncoder loaded(const json& definition) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.load();
}

TEST(Decode, WordPiecesBecomeWords) {
  json definition =
      small_tokenizer({"the", "##re", "is", ".", ",", "n't", "do not", "'s", "##x . y", "don"});
  definition["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  const TextEncoder encoder = loaded(definition);
  const auto text = [&](const std::vector<int32_t>& ids, bool skips_special = true) {
    return encoder.decode(ids, skips_special);
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({2, 5, 6, 7, 8, 3}), "there is.");
  EXPECT_EQ(text({2, 5, 6, 7, 8, 3}, false), "[CLS] there is. [SEP]");
  EXPECT_EQ(text({6, 6}), "##rere");  // the first token keeps its prefix
  EXPECT_EQ(text({5, 9, 5, 12}), "the, the's");
  EXPECT_EQ(text({7, 10}), "isn't");
  EXPECT_EQ(text({7, 11}), "is don't");
  EXPECT_EQ(text({5, 13}), "thex. y");
  EXPECT_THROW(text({15}), std::runtime_error);
  EXPECT_THROW(text({-1}), std::runtime_error);
}

TEST(Decode, NothingIsReplacedInAnEmptyText) {
  json definition = small_tokenizer({"a"});
  definition["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Replace", "pattern": {"Regex": "^"}, "content": "x"}]})");
  const TextEncoder encoder = loaded(definition);
  EXPECT_EQ(encoder.decode(std::vector<int32_t>{5}, true), "xa");
  EXPECT_EQ(encoder.decode(std::vector<int32_t>{}, true), "");
}

TEST(Decode, ByteTokensBecomeUtf8) {
  json definition = small_tokenizer({});
  json& model = definition["model"] = {{"type", "BPE"}, {"vocab", {}}, {"merges", json::array()}};
  for (int id = 0; const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    model["vocab"][special] = id++;
  }
  for (int byte = 0; byte < 256; ++byte) {
    char spelled[4];
    const size_t size = utf8::encode(byte_characters()[static_cast<size_t>(byte)], spelled);
    model["vocab"][std::string(spelled, size)] = 5 + byte;
  }
  definition["normalizer"] = nullptr;
  definition["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  definition["decoder"] = definition["pre_tokenizer"];
  const TextEncoder encoder = loaded(definition);
  const auto text = [&](const std::string& bytes) {
    std::vector<int32_t> ids;
    for (const char c : bytes) ids.push_back(5 + static_cast<uint8_t>(c));
    return encoder.decode(ids, true);
  };
  EXPECT_EQ(text("a man\n日本 😀"), "a man\n日本 😀");
  // Each longest beginning of a character is one U+FFFD, as in Rust and in Unicode's advice.
  EXPECT_EQ(text("\xe6\x97x"), "\uFFFDx");
  EXPECT_EQ(text("\xf0\x9f\x98"), "\uFFFD");
  EXPECT_EQ(text("\x80\xff\xc0\xaf"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(text("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(encoder.decode(std::vector<int32_t>{2, 5 + 'a', 3}, false), "[CLS]a[SEP]");
}

TEST(Decode, MetaspacesBecomeSpaces) {
  json definition = small_tokenizer({});
  json vocabulary = json::array();
  for (const char* piece :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581a", "b", "\u2581"}) {
    vocabulary.push_back({piece, -1.0});
  }
  definition["model"] = {{"type", "Unigram"}, {"unk_id", 1}, {"vocab", vocabulary}};
  definition["normalizer"] = nullptr;
  definition["pre_tokenizer"] = {{"type", "Metaspace"},
                                 {"replacement", "\u2581"},
                                 {"prepend_scheme", "always"},
                                 {"split", true}};
  definition["decoder"] = definition["pre_tokenizer"];
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{2, 5, 6, 5, 7, 6, 3}, true), "ab a b");
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{6, 5}, true), "b a");
  definition["decoder"]["prepend_scheme"] = "never";
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{5, 6}, true), " ab");
}

// The text of all tokens behind the five special ones.
std::string decoded(const std::vector<std::string>& tokens, const json& decoder) {
  json definition = small_tokenizer(tokens);
  definition["decoder"] = decoder;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids.push_back(static_cast<int32_t>(5 + i));
  return loaded(definition).decode(ids, false);
}

TEST(Decode, FollowsTheFile) {
  EXPECT_EQ(decoded({"a", "##b", "c"}, nullptr), "a ##b c");
  EXPECT_EQ(
      decoded({"a", "##b", "."}, {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", 0 > 1}}),
      "ab .");
  EXPECT_EQ(decoded({"a", "?", "!", "' b", "'m", "'ve", "'re"},
                    {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}),
            "a?!'b'm've're");
  EXPECT_EQ(decoded({"a</w>", "b", "c</w>"}, {{"type", "BPEDecoder"}, {"suffix", "</w>"}}), "a bc");
  EXPECT_EQ(decoded({"a\u00e9", "b"}, {{"type", "BPEDecoder"}, {"suffix", ""}}), " a \u00e9 b");
  EXPECT_EQ(decoded({"a", "##b"}, {{"type", "Sequence"}, {"decoders", json::array()}}), "a##b");
  EXPECT_EQ(decoded({"\u65e5a", "\u0120b"},
                    {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}}),
            "\u65e5a b");
  EXPECT_EQ(decoded({"<0x+4>", "<0xFF>", "<0xFE>", "x", "<0x41>"}, {{"type", "ByteFallback"}}),
            "\uFFFD\uFFFD\uFFFDxA");
  EXPECT_EQ(decoded({"<0x+4>", "x", "<0x41>"}, {{"type", "ByteFallback"}}), "\x04xA");
  EXPECT_EQ(
      decoded({"__a__", "_b"}, {{"type", "Strip"}, {"content", "_"}, {"start", 0}, {"stop", 1}}),
      "__a__b");
  EXPECT_EQ(decoded({"__a__"}, {{"type", "Strip"}, {"content", "_"}, {"start", 1}, {"stop", 2}}),
            "_a");
  json ctc = {{"type", "CTC"}, {"pad_token", "<pad>"}, {"word_delimiter_token", "|"}};
  ctc["cleanup"] = true;
  const json twice = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}};
  EXPECT_EQ(decoded({"h", "<pad>", "i", "|", " ."},
                    {{"type", "Sequence"}, {"decoders", json::array({ctc, twice})}}),
            "h i   .");
  const json pieces =
      json::array({{{"type", "Replace"}, {"pattern", {{"String", "_"}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}},
                   {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}});
  const json llama = {{"type", "Sequence"}, {"decoders", pieces}};
  EXPECT_EQ(decoded({"_a", "_b", "<0xC3>", "<0xA9>", "x", "<0xFF>", "<0xFg>"}, llama),
            "a b\u00e9x\uFFFD<0xFg>");
}

TEST(Decode, EqualNeighboursOfCtcAreOne) {
  json definition = small_tokenizer({"h", "<pad>"});
  definition["decoder"] = {
      {"type", "CTC"}, {"pad_token", "<pad>"}, {"word_delimiter_token", "|"}, {"cleanup", true}};
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{5, 5, 6, 5, 5}, false), "hh");
}

TEST(Decode, AddedTokensAreNormalizedLikeTheText) {
  json definition = small_tokenizer({"a"});
  definition["added_tokens"].push_back(added_token("<X>", 6));
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{5, 6}, true), "a <X>");
  definition["added_tokens"].back()["normalized"] = true;
  EXPECT_EQ(loaded(definition).decode(std::vector<int32_t>{5, 6}, true), "a <x>");
}

TEST(Decode, CleansUpWhatVocabTxtGives) {
  const TestDirectory directory;
  directory.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n.\n");
  EXPECT_EQ(directory.load().decode(std::vector<int32_t>{1, 3, 4, 2}, true), "a.");
}

TEST(Decode, RefusesOtherDecoders) {
  for (const json& decoder : {json{{"type", "Nonsense"}}, json("Fuse"), json{{"type", "Strip"}},
                              json{{"type", "BPEDecoder"}, {"suffix", 1}}}) {
    EXPECT_THROW(decoded({"a"}, decoder), std::runtime_error) << decoder;
  }
}

}  // namespace
}  // namespace bert::tokenizer
