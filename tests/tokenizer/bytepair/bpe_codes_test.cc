// SPDX-License-Identifier: Apache-2.0
//
// tests/transformers/bpe_codes.py compares with transformers' Python tokenizers.
#include <string>

#include <gmock/gmock.h>

#include "tests/tokenizer/test_directory.h"

namespace bert::tokenizer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kVocabulary =
    "a@@ 9\nb 8\nab 7\nab@@ 7\n\u1ed9@@ 6\nn@@ 5\ng 5\nng 4\nabc 3\n";

// The tokens 4 to 12 are those of kVocabulary; <mask> is 13.
void write_files(const TestDirectory& directory,
                 const std::string& codes = "n g</w> 9\na b 8\na b</w> 7\n") {
  directory.write("vocab.txt", kVocabulary);
  directory.write("bpe.codes", codes);
  directory.write("config.json",
                  R"({"model_type": "roberta", "tokenizer_class": "PhobertTokenizer"})");
}

TEST(BpeCodes, WordsAreBetweenWhiteSpace) {
  const TestDirectory directory;
  write_files(directory);
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(tokens_of(tokenizer, "ab a\u1ed9ng \tb"), "ab a@@ \u1ed9@@ ng b");
  EXPECT_EQ(tokens_of(tokenizer, "abb\u00a0aab\x1cg"), "ab@@ b a@@ ab g");
  EXPECT_EQ(tokens_of(tokenizer, "ng\u200b"), "n@@ <unk> <unk>");               // not white space
  EXPECT_EQ(tokens_of(tokenizer, "ab\ng\n\nab"), "ab@@ <unk> <unk> <unk> ab");  // \S+\n?
  const Encoding pair = tokenizer.encode(" a\u1ed9ng\n", "\u00e9 abc", 0);
  EXPECT_THAT(pair.ids, ElementsAre(0, 4, 8, 9, 3, 3, 2, 2, 3, 7, 3, 2));
  EXPECT_THAT(pair.type_ids, testing::Each(0));
  EXPECT_EQ(offsets_of(pair), "0-0 1-2 2-3 3-4 4-5 5-6 0-0 0-0 0-1 2-4 4-5 0-0");
}

TEST(BpeCodes, APairIsMergedWhereverItIs) {
  const TestDirectory directory;
  // Of a, b, a, b, the leftmost pair's merge would make the first merge possible.
  write_files(directory, "ab a 9\na b 8\na b</w> 7\n");
  directory.write("vocab.txt", "ab@@ 1\naba@@ 1\nab 1\nb 1\na@@ 1\n");
  EXPECT_EQ(tokens_of(directory.load(), "abababb"), "ab@@ ab@@ ab@@ b");
}

TEST(BpeCodes, AddedTokensAndDecoding) {
  const TestDirectory directory;
  write_files(directory);
  directory.write("tokenizer_config.json", R"({"additional_special_tokens": ["<e>"],
    "added_tokens_decoder": {"20": {"content": "<x>", "lstrip": true, "rstrip": false,
      "normalized": true, "single_word": false, "special": false}}})");
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(tokenizer.mask_id(), 14);  // the number of tokens before it
  EXPECT_EQ(tokenizer.find("<e>"), 15);
  EXPECT_EQ(tokenizer.size_without_added(), 13);
  const Encoding found = tokenizer.encode("ab<x>ab\n <x></s>b<e><mask>", std::nullopt, 0);
  EXPECT_THAT(found.ids, ElementsAre(0, 6, 20, 6, 20, 2, 5, 15, 14, 2));
  EXPECT_EQ(tokenizer.decode(found.ids, true), "ab <x> ab <x> b");
  EXPECT_EQ(tokenizer.decode(found.ids, false), "<s> ab <x> ab <x> </s> b <e> <mask> </s>");
  const std::vector<int32_t> open = {4, 8, 11, 4};
  EXPECT_EQ(tokenizer.decode(open, true), "a\u1ed9ng a@@");
  EXPECT_EQ(tokenizer.default_max_length(), 0);
  directory.write("tokenizer_config.json",
                  R"({"model_max_length": 9, "truncation_side": "left", "pad_token": "<p>"})");
  directory.write("special_tokens_map.json", R"({"pad_token": "<q>"})");
  const TextEncoder named = directory.load();
  EXPECT_EQ(named.default_max_length(), 9);
  EXPECT_TRUE(named.truncates_left());
  EXPECT_EQ(named.find("<q>"), 1);
  EXPECT_THAT(named.notes(), ElementsAre(HasSubstr("pad_token is \"<p>\", but")));
  directory.remove("special_tokens_map.json");
  directory.remove("tokenizer_config.json");
  directory.write("added_tokens.json", R"({"<mask>": 13, "<x>": 14})");
  const TextEncoder older = directory.load();
  EXPECT_EQ(older.mask_id(), 13);
  const std::vector<int32_t> added = {13, 14};
  EXPECT_EQ(older.decode(added, true), "<x>");
  directory.write("vocab.txt", "b  9\n");  // a token that ends in a space
  EXPECT_EQ(directory.load().decode(std::vector<int32_t>{4}, true), "b");
}

TEST(BpeCodes, AnOddTokenIsTheFirstTexts) {
  const TestDirectory directory;
  write_files(directory);
  const TextEncoder tokenizer = directory.load();
  EXPECT_THAT(tokenizer.encode("b b b", "ab ab ab", 7).ids, ElementsAre(0, 5, 5, 2, 2, 6, 2));
  EXPECT_THAT(tokenizer.encode("b b b", "ab ab ab ab", 9).ids,
              ElementsAre(0, 5, 5, 5, 2, 2, 6, 6, 2));
}

TEST(BpeCodes, LinesAreReadLikePython) {
  const TestDirectory directory;
  // White space around a line, a token twice, which gets the next one's id, and a space in one.
  directory.write("vocab.txt", "\u00a0a@@ 9\r\n b 8\nb 7\nab 6\nin it 5\ng 4\n");
  // The second line is of one symbol, the last one has no end.
  directory.write("bpe.codes", "a b</w> 3\n\u00a0 g 2\r\nn g</w> 1");
  const TextEncoder tokenizer = directory.load();
  EXPECT_THAT(tokenizer.encode("ab b aa g ng", std::nullopt, 0).ids,
              ElementsAre(0, 6, 6, 4, 3, 8, 3, 8, 2));
  EXPECT_THAT(tokenizer.encode("g2x", std::nullopt, 0).ids, ElementsAre(0, 3, 3, 3, 2));
  EXPECT_EQ(tokenizer.mask_id(), 9);
}

TEST(BpeCodes, AreReadForTheirClasses) {
  const TestDirectory directory;
  write_files(directory);
  directory.write("tokenizer.json", small_tokenizer({"ab"}).dump());
  const auto ids = [&] { return directory.load().encode("ab", std::nullopt, 0).ids; };
  EXPECT_THAT(ids(), ElementsAre(0, 6, 2));
  directory.write("config.json", R"({"tokenizer_class": "BertweetTokenizer"})");
  EXPECT_THAT(ids(), ElementsAre(0, 6, 2));
  directory.remove("config.json");
  EXPECT_THAT(ids(), ElementsAre(2, 5, 3));
  directory.write("config.json", R"({"tokenizer_class": "PhobertTokenizer"})");
  directory.remove("bpe.codes");
  EXPECT_THAT(ids(), ElementsAre(2, 5, 3));
  write_files(directory);
  directory.remove("config.json");
  directory.remove("tokenizer.json");
  EXPECT_THAT(ids(), ElementsAre(0, 6, 2));
  directory.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nab\n");
  directory.write("config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_THAT(ids(), ElementsAre(1, 3, 2));
}

TEST(BpeCodes, NullIsNoToken) {
  const TestDirectory directory;
  write_files(directory);
  directory.write("tokenizer_config.json", R"({"mask_token": null, "pad_token": null})");
  EXPECT_EQ(tokens_of(directory.load(), "ab <s><pad>"), "ab <s> <unk> <unk> a@@ <unk> <unk>");
  EXPECT_EQ(directory.load().mask_id(), -1);
}

TEST(BpeCodes, Errors) {
  const TestDirectory directory;
  write_files(directory);
  const auto error = [&](const std::string& name, const std::string& content) {
    write_files(directory);
    directory.write(name, content);
    return directory.error();
  };
  const std::string token = "expected a token, a space and its count";
  EXPECT_EQ(error("vocab.txt", "a 1\nb\n"), "vocab.txt: line 2: " + token);
  EXPECT_EQ(error("vocab.txt", "a 1\n\nb 1\n"), "vocab.txt: line 2: " + token);
  EXPECT_EQ(error("vocab.txt", "a 1x\n"), "vocab.txt: line 1: " + token);
  EXPECT_EQ(error("vocab.txt", "a b\t1\n"), "vocab.txt: line 1: " + token);
  EXPECT_EQ(error("vocab.txt", "a 1\rb 1\n"), "vocab.txt: line 1: " + token);
  EXPECT_EQ(error("vocab.txt", "a 1\n\xff 1\n"),
            "vocab.txt: line 2: not valid UTF-8 at byte 0 of the line");
  const std::string symbols = "expected two symbols and their count, with spaces between them";
  for (const char* line : {"", "a", "a b", "a b c", "a  1", " a 1", "a b 1 2", "a\rb c 1"}) {
    EXPECT_EQ(error("bpe.codes", std::string("a b 1\n") + line + "\na b 1\n"),
              "bpe.codes: line 2: " + symbols)
        << line;
  }
  const std::string config = "tokenizer_config.json: ";
  EXPECT_EQ(error("tokenizer_config.json", R"({"normalization": true})"),
            config + "normalization: found true, expected false");
  EXPECT_EQ(error("tokenizer_config.json", R"({"cls_token": "[CLS]"})"),
            "vocab.txt: the cls_token \"[CLS]\" is not in the vocabulary");
  EXPECT_EQ(error("tokenizer_config.json", R"({"unk_token": null})"),
            config + "unk_token: found null, expected a token");
  EXPECT_EQ(
      error("tokenizer_config.json",
            R"({"added_tokens_decoder": {"14": {"content": "<e>", "lstrip": false, "rstrip": false,
                     "normalized": false, "single_word": true, "special": true}}})"),
      config + "the added token \"<e>\": single_word: found true, expected false");
  directory.remove("tokenizer_config.json");
  directory.remove("bpe.codes");
  EXPECT_EQ(directory.error(), "bpe.codes: not found, expected beside vocab.txt");
  directory.remove("vocab.txt");
  EXPECT_THAT(directory.error(), HasSubstr("found none of tokenizer.json"));
}

TEST(BpeCodes, HostileLinesTakeNoSquareTime) {
  const TestDirectory directory;
  write_files(directory, "a a 9\naa aa 8\n");
  directory.write("vocab.txt", "aaaa@@ 1\n");
  const TextEncoder tokenizer = directory.load();
  const size_t size = 1 << 20;  // n^2 would take hours
  EXPECT_EQ(tokenizer.encode(std::string(size, 'a'), std::nullopt, 0).ids.size(), size / 4 + 4);
  EXPECT_EQ(tokenizer.encode(std::string(size, '\t'), std::nullopt, 0).ids.size(), 2);
}

}  // namespace
}  // namespace bert::tokenizer
