// SPDX-License-Identifier: Apache-2.0
//
// vocab.txt without a tokenizer.json, and the small files beside it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kLines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n\xc3\xa9\n";

// Line 344 of bert-base-chinese's vocab.txt is only white space.
TEST(VocabTxt, AnEmptyTokenCountsWhenAddedTokensAreNumbered) {
  const TestDirectory directory;
  directory.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n\xe2\x80\xa8\nb\n");
  directory.write("added_tokens.json", R"({"<new>": 6})");
  const TextEncoder tokenizer = directory.load();
  EXPECT_THAT(tokenizer.encode("a<new> b", std::nullopt, 0).ids, ElementsAre(1, 3, 6, 5, 2));
  EXPECT_EQ(tokenizer.vocabulary_size(), 7);
}

TEST(VocabTxt, Alone) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines);
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(tokenizer.encode("AB", "[MASK]", 0).ids, (std::vector<int32_t>{2, 5, 6, 3, 4, 3}));
  EXPECT_EQ(tokenizer.encode("AB", "[MASK]", 0).type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(tokenizer.vocabulary_size(), 8);
  EXPECT_EQ(tokenizer.default_max_length(), 0);
  EXPECT_THAT(tokenizer.notes(), ElementsAre(HasSubstr("do_lower_case is not given")));
  const std::vector<int32_t> ids = {2, 5, 6, 3, 4};
  EXPECT_EQ(tokenizer.decode(ids, true), "ab");
  EXPECT_EQ(tokenizer.decode(ids, false), "[CLS] ab [SEP] [MASK]");
}

TEST(VocabTxt, LineEnds) {
  const TestDirectory directory;
  std::string crlf;
  for (const char c : kLines) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& text : {crlf, kLines.substr(0, kLines.size() - 1)}) {
    directory.write("vocab.txt", text);
    EXPECT_EQ(tokens_of(directory.load(), "ab"), "a ##b");
    EXPECT_EQ(directory.load().vocabulary_size(), 8);
  }
  directory.write("vocab.txt", kLines + "b\t\u3000\n");
  EXPECT_EQ(tokens_of(directory.load(), "b"), "b");
}

TEST(VocabTxt, RepeatedAndBadLines) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines + "a\n");
  EXPECT_EQ(directory.load().encode("a", std::nullopt, 0).ids[1], 8);
  EXPECT_THAT(directory.load().notes()[0],
              HasSubstr("line 9 repeats \"a\" from line 6, so id 5 is"));
  directory.write("vocab.txt", kLines + "a\na\n[CLS]\n");
  EXPECT_THAT(directory.load().encode("a", std::nullopt, 0).ids, ElementsAre(10, 9, 3));
  EXPECT_THAT(directory.load().notes(),
              ElementsAre(HasSubstr("so id 5 is never used; lines that repeat tokens: 3"),
                          HasSubstr("do_lower_case is not given")));
  directory.write("vocab.txt", std::string((1 << 22) + 1, '\n'));
  EXPECT_EQ(directory.error(), "vocab.txt: found 4194305 lines, expected at most 4194304");
  directory.write("vocab.txt", "\xef\xbb\xbf" + kLines);
  EXPECT_THAT(directory.error(), HasSubstr("vocab.txt: line 1 begins with a byte-order mark"));
  directory.write("vocab.txt", "[PAD]\nab\xff\n");
  EXPECT_EQ(directory.error(), "vocab.txt: line 2: not valid UTF-8 at byte 2 of the line");
  directory.write("vocab.txt", "");
  EXPECT_EQ(directory.error(), "vocab.txt: the cls_token \"[CLS]\" is not in the vocabulary");
}

TEST(VocabTxt, ConfigSwitches) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines + "e\nA\n\xe4\xb8\xad\xe4\xb8\xad\n");
  const auto tokens = [&](const char* config, const char* text) {
    directory.write("tokenizer_config.json", config);
    return tokens_of(directory.load(), text);
  };
  EXPECT_EQ(tokens(R"({"do_lower_case": true})", "A\u00c9"), "[UNK]");
  EXPECT_EQ(tokens(R"({"do_lower_case": true})", "A \u00c9"), "a e");
  EXPECT_EQ(tokens(R"({"do_lower_case": true, "strip_accents": null})", "A \u00c9"), "a e");
  EXPECT_EQ(tokens(R"({"do_lower_case": true, "strip_accents": false})", "A \u00c9"), "a \u00e9");
  EXPECT_EQ(tokens(R"({"do_lower_case": false})", "A \u00e9"), "A \u00e9");
  EXPECT_EQ(tokens(R"({"do_lower_case": false, "strip_accents": true})", "A \u00e9"), "A e");
  EXPECT_EQ(tokens(R"({"tokenize_chinese_chars": false})", "中中"), "中中");
  EXPECT_EQ(tokens(R"({"tokenize_chinese_chars": true})", "中中"), "[UNK] [UNK]");
  EXPECT_EQ(tokens(R"({"clean_text": true})", "a\x01"), "a");
  EXPECT_EQ(tokens(R"({"clean_text": false})", "a\x01"), "a");  // as in transformers
}

TEST(VocabTxt, SpecialTokensByName) {
  const TestDirectory directory;
  directory.write("vocab.txt", "<s>\n</s>\n<unk>\na\n<x>\n");
  const char* const names = R"({"cls_token": "<s>", "sep_token": {"content": "</s>"},
                                "unk_token": "<unk>", "model_max_length": 1e30)";
  directory.write("tokenizer_config.json", std::string(names) + R"(, "added_tokens_decoder": {
      "4": {"content": "<x>", "single_word": false, "lstrip": true, "rstrip": false,
            "normalized": false, "special": true}}})");
  EXPECT_EQ(directory.load().encode("a  <x> b", std::nullopt, 0).ids,
            (std::vector<int32_t>{0, 3, 4, 2, 1}));
  EXPECT_EQ(directory.load().default_max_length(), 0);
  directory.write("tokenizer_config.json", std::string(names) + "}");
  directory.write("special_tokens_map.json", R"({"cls_token": "<x>", "mask_token": "<mask>"})");
  directory.write("added_tokens.json", R"({"<new>": 6, "<mask>": 5})");
  EXPECT_EQ(directory.load().encode("a<new><mask>", std::nullopt, 0).ids,
            (std::vector<int32_t>{4, 3, 6, 5, 1}));
  EXPECT_THAT(directory.load().notes()[0], HasSubstr("cls_token is \"<s>\""));
}

TEST(VocabTxt, AddedTokensOfOlderFiles) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines);
  directory.write("tokenizer_config.json", R"({"mask_token": "<mask>", "model_max_length": 1000000,
                                               "additional_special_tokens": ["<more>"]})");
  directory.write("added_tokens.json", R"({"<new>": 10, "<mask>": 8, "<more>": 9})");
  const TextEncoder tokenizer = directory.load();
  // Those that are named are special; the others are normalised.
  const Encoding encoding = tokenizer.encode("a<NEW><mask><more>", std::nullopt, 0);
  EXPECT_THAT(encoding.ids, ElementsAre(2, 5, 10, 8, 9, 3));
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), "a <new>");
  EXPECT_EQ(tokens_of(tokenizer, "<MORE>"), "[UNK] [UNK] [UNK]");
  EXPECT_EQ(tokenizer.default_max_length(), 1'000'000);
  json decoder;  // in the order of its numbers, and of greater weight
  for (const int id : {10, 9, 8}) {
    decoder[std::to_string(id)] = added_token("<" + std::to_string(id) + ">", id);
    decoder[std::to_string(id)].erase("id");
  }
  decoder["4"] = decoder["8"];
  decoder["4"]["content"] = "[MASK]";
  decoder["4"]["rstrip"] = true;
  directory.write("tokenizer_config.json", json{{"added_tokens_decoder", decoder}}.dump());
  const TextEncoder newer = directory.load();
  EXPECT_EQ(newer.find("<8>"), 8);
  EXPECT_EQ(newer.find("<10>"), 10);
  EXPECT_EQ(newer.find("<new>"), -1);
  EXPECT_EQ(offsets_of(newer.encode(" [MASK]  a", std::nullopt, 0)), "0-0 1-9 9-10 0-0");
}

TEST(VocabTxt, SpecialTokensWithFlags) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines + "<s>\n");
  const auto encode = [&](const char* config, const char* map, const char* text) {
    directory.write("tokenizer_config.json", config);
    directory.write("special_tokens_map.json", map);
    return directory.load().encode(text, std::nullopt, 0);
  };
  const char* const mask = R"({"mask_token": {"content": "[MASK]", "lstrip": true,
      "normalized": true, "rstrip": false, "single_word": false}})";
  EXPECT_EQ(offsets_of(encode(mask, "{}", "a   [mask] a")), "0-0 0-1 1-10 11-12 0-0");
  EXPECT_EQ(offsets_of(encode("{}", mask, "a   [mask] a")), "0-0 0-1 1-10 11-12 0-0");
  EXPECT_EQ(offsets_of(encode("{}", "{}", "a   [MASK] a")), "0-0 0-1 4-10 11-12 0-0");
  EXPECT_EQ(offsets_of(encode(R"({"mask_token": {"content": "[MASK]", "rstrip": true,
                "single_word": true}})",
                              "{}", "a[MASK] a [MASK]  a")),
            "0-0 0-1 1-2 2-6 6-7 8-9 10-18 18-19 0-0");
  EXPECT_THAT(encode("{}", R"({"additional_special_tokens": ["<x>"]})", "a<x>").ids,
              ElementsAre(2, 5, 9, 3));
  EXPECT_THAT(encode(R"({"extra_special_tokens": {"image": "<x>"}})", "{}", "a<x>").ids,
              ElementsAre(2, 5, 9, 3));
  EXPECT_THAT(encode(R"({"extra_special_tokens": {"b": "<x>", "a": "<y>"}})", "{}", "<x><y>").ids,
              ElementsAre(2, 9, 10, 3));  // in the file's order
  EXPECT_THAT(encode(R"({"additional_special_tokens": ["<x>"], "extra_special_tokens": ["<y>"]})",
                     "{}", "a<y>")
                  .ids,
              ElementsAre(2, 5, 9, 3));  // the older field does not count
  EXPECT_THAT(encode(R"({"model_specific_special_tokens": {"a": "<x>"}})", "{}", "a<x>").ids,
              ElementsAre(2, 5, 9, 3));
  EXPECT_EQ(offsets_of(encode(mask, R"({"mask_token": "[MASK]"})", "a  [mask]")),
            "0-0 0-1 3-4 4-8 8-9 0-0");  // the second file counts, with its flags
  EXPECT_THAT(encode(R"({"bos_token": "<s>"})", "{}", "<s>a").ids, ElementsAre(2, 8, 5, 3));
  const std::vector<int32_t> ids = {5, 9};
  encode(R"({"additional_special_tokens": ["<x>"]})", "{}", "a");
  EXPECT_EQ(directory.load().decode(ids, true), "a");  // it is special
}

TEST(VocabTxt, TruncationFromTheLeft) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines);
  directory.write("tokenizer_config.json", R"({"truncation_side": "left"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding one = tokenizer.encode("a ab", std::nullopt, 4);
  EXPECT_THAT(one.ids, ElementsAre(2, 5, 6, 3));
  EXPECT_EQ(offsets_of(one), "0-0 2-3 3-4 0-0");
  EXPECT_TRUE(one.truncated);
  EXPECT_FALSE(tokenizer.encode("a ab", std::nullopt, 5).truncated);
  EXPECT_THAT(tokenizer.encode("a ab", "ab a", 6).ids, ElementsAre(2, 6, 3, 6, 5, 3));
  EXPECT_THAT(tokenizer.encode("a a a a a ab", std::nullopt, 4).ids, ElementsAre(2, 5, 6, 3));
  // Counted are the last words that reach the limit: seven tokens of the first text, and six, or
  // all the added ones, of the second.
  EXPECT_THAT(tokenizer.encode("ab ab ab a", "a a a a a a a a", 6).ids,
              ElementsAre(2, 6, 5, 3, 5, 3));
  std::string masks;
  for (int i = 0; i < 8; ++i) masks += "[MASK]";
  EXPECT_THAT(tokenizer.encode("ab ab ab a", masks, 6).ids, ElementsAre(2, 5, 3, 4, 4, 3));
}

TEST(VocabTxt, Mpnet) {
  const TestDirectory directory;
  directory.write("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\na\n##b\n<mask>\n");
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding pair = tokenizer.encode("AB <mask>", "z", 0);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{0, 4, 5, 6, 2, 2, 3, 2}));
  EXPECT_EQ(pair.type_ids, std::vector<int32_t>(8, 0));
  EXPECT_EQ(offsets_of(pair), "0-0 0-1 1-2 2-9 0-0 0-0 0-1 0-0");
  EXPECT_EQ(tokenizer.mask_id(), 6);
  directory.remove("tokenizer_config.json");
  directory.write("config.json", R"({"model_type": "mpnet"})");
  EXPECT_EQ(directory.load().encode("AB <mask>", "z", 0).ids, pair.ids);
  EXPECT_TRUE(tokenizer.continues_word(5));
  EXPECT_FALSE(tokenizer.continues_word(4));
}

TEST(VocabTxt, WithoutMask) {
  const TestDirectory directory;
  directory.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_EQ(directory.load().mask_id(), -1);
}

// Each is added once, in the order of the files that name it.
TEST(VocabTxt, ManyAddedTokens) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines);
  nlohmann::json config = {{"tokenizer_class", "BertTokenizer"}, {"mask_token", "<150>"}};
  for (int i = 0; i < 600; ++i) {
    config["additional_special_tokens"].push_back("<" + std::to_string(i % 300) + ">");
  }
  directory.write("tokenizer_config.json", config.dump());
  directory.write("added_tokens.json", R"({"<299>": 8, "<x>": 9})");
  for (const bool is_json : {false, true}) {
    if (is_json) directory.write("tokenizer.json", small_tokenizer({"a", "##b", "\u00e9"}).dump());
    const TextEncoder tokenizer = directory.load();
    EXPECT_EQ(tokens_of(tokenizer, "a<0> <x><299>a"), "a <0> <x> <299> a");
    EXPECT_THAT(tokenizer.encode("<299><x><150><0><1><149><151><298>", std::nullopt, 0).ids,
                ElementsAre(2, 8, 9, 10, 11, 12, 160, 161, 308, 3));
    EXPECT_EQ(tokenizer.vocabulary_size(), 309);
    EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{5, 8, 9, 308}, true), "a <x>");
  }
}

// As in transformers, where a special token that is null has no default. The template needs its
// own.
TEST(VocabTxt, NullIsNoToken) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines + "[\n]\nmask\nunk\n");
  directory.write("tokenizer_config.json", R"({"mask_token": null})");
  EXPECT_EQ(tokens_of(directory.load(), "a[MASK]"), "a [ mask ]");
  EXPECT_EQ(directory.load().mask_id(), -1);
  directory.write("special_tokens_map.json", R"({"mask_token": "[MASK]"})");
  EXPECT_EQ(tokens_of(directory.load(), "a[MASK]"), "a [MASK]");
  EXPECT_THAT(directory.load().notes()[0],
              HasSubstr("tokenizer_config.json: mask_token is null, but"));
  directory.write("tokenizer_config.json", R"({"mask_token": "[MASK]"})");
  directory.write("special_tokens_map.json", R"({"mask_token": null, "unk_token": null})");
  EXPECT_EQ(tokens_of(directory.load(), "a[MASK][UNK]"), "a [ mask ] [ unk ]");
  EXPECT_THAT([&] { directory.load().encode("b", std::nullopt, 0); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("no unknown token is named")));
  directory.write("tokenizer_config.json", R"({"mask_token": null, "added_tokens_decoder": {}})");
  EXPECT_EQ(tokens_of(directory.load(), "[MASK][UNK]"), "[ mask ] [UNK]");
  directory.write("tokenizer_config.json", R"({"cls_token": null})");
  EXPECT_EQ(directory.error(), "tokenizer_config.json: cls_token: found null, expected a token");
}

// Of ESM: cut at the tokens themselves, and at white space.
TEST(VocabTxt, Esm) {
  const TestDirectory directory;
  directory.write("vocab.txt", "<cls>\n<pad>\n<eos>\n<unk>\nL\nAB\n<mask>\nA\n");
  directory.write("config.json", R"({"model_type": "esm"})");
  const TextEncoder tokenizer = directory.load();
  const Encoding encoding = tokenizer.encode("LABA xyz z<mask> L", std::nullopt, 0);
  EXPECT_THAT(encoding.ids, ElementsAre(0, 4, 5, 7, 3, 3, 6, 4, 2));
  EXPECT_EQ(offsets_of(encoding), "0-0 0-1 1-3 3-4 5-8 9-10 10-16 17-18 0-0");
  EXPECT_THAT(tokenizer.encode("LLLL", "AAAA", 8).ids, ElementsAre(0, 4, 4, 4, 2, 7, 7, 2));
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), "L AB A L");
  EXPECT_THAT(tokenizer.notes(), IsEmpty());
  directory.write("tokenizer_config.json", R"({"eos_token": null})");
  EXPECT_EQ(directory.error(), "tokenizer_config.json: eos_token: found null, expected a token");
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer"})");
  EXPECT_EQ(directory.error(), "");
}

TEST(VocabTxt, ConfigErrors) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines);
  const auto error = [&](const char* config) {
    directory.write("tokenizer_config.json", config);
    return directory.error();
  };
  const std::string file = "tokenizer_config.json: ";
  EXPECT_EQ(error(R"({"do_lower_case": "yes"})"),
            file + "do_lower_case: found \"yes\", expected true or false");
  EXPECT_EQ(error(R"({"tokenizer_class": "FunnelTokenizer"})"),
            file +
                "tokenizer_class: found \"FunnelTokenizer\", expected BertTokenizer, an equivalent "
                "class, MPNetTokenizer, EsmTokenizer or BertJapaneseTokenizer");
  EXPECT_EQ(error(R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
            file + "word_tokenizer_type: found \"basic\", expected \"mecab\"");
  EXPECT_EQ(error(R"({"word_tokenizer_type": "mecab"})"),
            file + "word_tokenizer_type: found \"mecab\", expected \"basic\"");
  directory.write("config.json", R"({"tokenizer_class": "FunnelTokenizer"})");
  EXPECT_THAT(error("{}"), HasSubstr("config.json: tokenizer_class: found \"Funnel"));
  directory.write("config.json", "{}");
  EXPECT_EQ(error(R"({"tokenizer_class": "DistilBertTokenizer"})"), "");
  EXPECT_EQ(error(R"({"tokenizer_class": "ElectraTokenizerFast"})"), "");
  EXPECT_EQ(error(R"({"do_basic_tokenize": false})"),
            file + "do_basic_tokenize: found false, expected true");
  EXPECT_EQ(error(R"({"max_len": 0})"),
            file + "max_len: found 0, expected an integer from 1 to 1000000");
  EXPECT_EQ(error(R"({"model_max_length": 0})"),
            file + "model_max_length: found 0, expected an integer from 1 to 1000000");
  EXPECT_EQ(error(R"({"do_lower_case": true, "do_lower_case": false})"),
            file + "\"do_lower_case\" is given twice");
  EXPECT_EQ(error(R"({"x": {"do_lower_case": true}, "do_lower_case": false})"), "");
  EXPECT_EQ(error(R"({"model_max_length": 1e999})"),
            file + "not valid JSON: number overflow parsing '1e999'");
  EXPECT_EQ(error(R"({"truncation_side": "up"})"),
            file + "truncation_side: found \"up\", expected \"left\" or \"right\"");
  EXPECT_EQ(error(R"({"sep_token": 1})"), file + "sep_token: found 1, expected a string");
  EXPECT_EQ(error(R"({"sep_token": "<s>"})"),
            "vocab.txt: the sep_token \"<s>\" is not in the vocabulary");
  for (const std::string key : {"x", "6x", "-1", "4194304"}) {
    json token = added_token("x", 0);
    token.erase("id");
    EXPECT_THAT(error(json{{"added_tokens_decoder", {{key, token}}}}.dump().c_str()),
                HasSubstr("added_tokens_decoder[\"" + key + "\"]: the key is not an id"));
  }
}

// model_type implies the class.
TEST(TokenizerJson, IsComparedWithTheDefaultClassToo) {
  const TestDirectory directory;
  nlohmann::json definition = small_tokenizer({"a"});
  definition["normalizer"]["lowercase"] = false;
  directory.write("tokenizer.json", definition.dump());
  for (const auto& [type, notes] : {std::pair{"bert", 2}, {"llama", 0}}) {
    directory.write("config.json", nlohmann::json({{"model_type", type}}).dump());
    EXPECT_EQ(directory.load().notes().size(), notes) << type;
  }
}

}  // namespace
}  // namespace bert::tokenizer
