// SPDX-License-Identifier: Apache-2.0
//
// What a directory's files may say, and the errors if they are wrong.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kLines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n\xc3\xa9\n";

std::string error_of(const std::function<void(json&)>& change) {
  json definition = small_tokenizer({"a"});
  change(definition);
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.error();
}

TEST(TokenizerJson, WithoutFiles) {
  const TestDirectory directory;
  EXPECT_THAT(directory.error(), HasSubstr("found none of tokenizer.json, vocab.txt"));
}

TEST(TokenizerJson, SaysWhatIsWrongAndWhere) {
  const std::string json_file = "tokenizer.json: ";
  EXPECT_EQ(error_of([](json& d) { d["version"] = "2.0"; }),
            json_file + "version: found \"2.0\", expected \"1.0\"");
  EXPECT_EQ(error_of([](json& d) { d.erase("model"); }), json_file + "\"model\" is missing");
  EXPECT_THAT(
      error_of([](json& d) { d["normalizer"]["type"] = "Upper"; }),
      StartsWith(json_file + "normalizer.type: found \"Upper\", expected \"BertNormalizer\", "));
  EXPECT_EQ(error_of([](json& d) { d["normalizer"] = nullptr; }), "");
  EXPECT_EQ(error_of([](json& d) { d["normalizer"]["lowercase"] = 1; }),
            json_file + "normalizer.lowercase: found 1, expected true or false");
  EXPECT_THAT(error_of([](json& d) { d["pre_tokenizer"]["type"] = "UnicodeScripts"; }),
              StartsWith(json_file + "pre_tokenizer.type: found \"UnicodeScripts\", expected "));
  EXPECT_EQ(error_of([](json& d) { d["model"]["type"] = "Char"; }),
            json_file +
                "model.type: found \"Char\", expected \"WordPiece\", \"WordLevel\", "
                "\"Unigram\" or \"BPE\"");
  EXPECT_EQ(error_of([](json& d) { d["model"].erase("type"); }), "");
  EXPECT_EQ(error_of([](json& d) { d["model"]["merges"] = json::array(); }),
            json_file + "model: found \"merges\", which WordPiece does not have");
  EXPECT_EQ(error_of([](json& d) { d["model"].erase("unk_token"); }),
            json_file + "model: \"unk_token\" is missing");
  EXPECT_EQ(error_of([](json& d) { d["model"]["unk_token"] = "<unk>"; }),
            json_file + "the unknown token \"<unk>\" is not in the vocabulary");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = -1; }),
            json_file + "model.vocab[\"a\"]: found -1, expected an integer from 0 to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = 1.5; }),
            json_file + "model.vocab[\"a\"]: found 1.5, expected an integer from 0 to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = 18446744073709551615u; }),
            json_file +
                "model.vocab[\"a\"]: found 18446744073709551615, expected an integer from 0 "
                "to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"] = json::array(); }),
            json_file + "model.vocab: found an array, expected an object");
  EXPECT_EQ(error_of([](json& d) { d["added_tokens"][0].erase("lstrip"); }),
            json_file + "added_tokens[0]: \"lstrip\" is missing");
  EXPECT_EQ(error_of([](json& d) { d["post_processor"]["type"] = "Other"; }),
            json_file +
                "post_processor.type: found \"Other\", expected \"BertProcessing\", "
                "\"ByteLevel\", \"RobertaProcessing\", \"Sequence\" or \"TemplateProcessing\"");
  EXPECT_EQ(error_of([](json& d) { d["post_processor"]["type"] = "RobertaProcessing"; }),
            json_file + "post_processor: \"trim_offsets\" is missing");
  EXPECT_EQ(error_of([](json& d) {
              d["truncation"] = {{"max_length", 8}, {"direction", "Up"}};
            }),
            json_file + "truncation.direction: found \"Up\", expected \"Left\" or \"Right\"");
  EXPECT_EQ(error_of([](json& d) { d["post_processor"]["special_tokens"].erase("[SEP]"); }),
            json_file + "post_processor.special_tokens: \"[SEP]\" is missing");
  EXPECT_EQ(error_of([](json& d) { d["post_processor"]["special_tokens"]["[SEP]"]["ids"] = {77}; }),
            json_file + "the template's special token 77 is not in the vocabulary");
  EXPECT_EQ(error_of([](json& d) { d["post_processor"]["pair"].erase(3); }),
            json_file +
                "post_processor: found sequence A 1 times and B 0 times, expected each "
                "once");
  EXPECT_EQ(error_of([](json& d) {
              d["truncation"] = {{"max_length", 0}};
            }),
            json_file + "truncation.max_length: found 0, expected an integer from 1 to 2147483647");
}

// The vocabulary of any other model, which is read by a parser of its own.
TEST(TokenizerJson, UnigramWithTheVocabularyOfAnotherModelIsRefused) {
  EXPECT_EQ(error_of([](json& d) { d["model"]["type"] = "Unigram"; }),
            "tokenizer.json: model.vocab: found an object, expected an array");
}

TEST(TokenizerJson, SpecialTokensThatTheConfigAloneNamesAreFound) {
  const TestDirectory directory;
  json definition = small_tokenizer({"a", "<", ">", "x"});
  definition["added_tokens"] = json::array();
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(tokens_of(directory.load(), "a [MASK] <x>"), "a [UNK] [UNK] [UNK] < x >");
  directory.write("tokenizer_config.json",
                  R"({"mask_token": "[MASK]", "additional_special_tokens": ["<x>"]})");
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(tokens_of(tokenizer, "a [MASK] <x>"), "a [MASK] <x>");
  EXPECT_EQ(tokenizer.find("<x>"), 9);  // the one after the vocabulary
}

TEST(TokenizerJson, EqualNormalizedTokensAreAnError) {
  EXPECT_EQ(
      error_of([](json& d) {
        for (const char* content : {"Foo", "foo"}) {
          d["added_tokens"].push_back(added_token(content, 6));
          d["added_tokens"].back()["normalized"] = true;
        }
      }),
      "tokenizer.json: the added tokens \"Foo\" and \"foo\" are both \"foo\" when normalised");
}

TEST(TokenizerJson, NotJson) {
  const TestDirectory directory;
  for (const char* text : {"", "{", "[1,]", "{\"a\": \"\xff\"}"}) {
    directory.write("tokenizer.json", text);
    EXPECT_THAT(directory.error(), HasSubstr("tokenizer.json: not valid JSON at byte ")) << text;
  }
  directory.write("tokenizer.json", small_tokenizer({"a"}).dump() + std::string("\0}", 2));
  EXPECT_THAT(directory.error(), HasSubstr("tokenizer.json: not valid JSON at byte "));
  directory.write("tokenizer.json", "[]");
  EXPECT_EQ(directory.error(), "tokenizer.json: found an array, expected an object");
}

TEST(TokenizerJson, DeepNestingDoesNoHarm) {
  const TestDirectory directory;
  directory.write("tokenizer.json", std::string(1000000, '[') + std::string(1000000, ']'));
  EXPECT_EQ(directory.error(), "tokenizer.json: found an array, expected an object");
}

// As transformers 5.23 does.
TEST(TokenizerJson, TruncationDoesNotLimitTheLength) {
  json definition = small_tokenizer({"a"});
  definition["truncation"] = {
      {"max_length", 128}, {"strategy", "OnlyFirst"}, {"stride", 0}, {"direction", "Right"}};
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(directory.load().default_max_length(), 0);
  EXPECT_THAT(directory.load().notes(),
              ElementsAre(HasSubstr("\"OnlyFirst\" is ignored, \"LongestFirst\" is used")));
  directory.write("tokenizer_config.json", R"({"model_max_length": 256})");
  EXPECT_EQ(directory.load().default_max_length(), 256);
}

// What tokenizers 0.23.2 gives.
TEST(TokenizerJson, RobertaProcessing) {
  const TestDirectory directory;
  const auto offsets = [&](bool trim, bool add_prefix_space, const char* text) {
    json definition = small_tokenizer({"a", "b"});
    definition["post_processor"] = {{"type", "RobertaProcessing"},
                                    {"cls", {"[CLS]", 2}},
                                    {"sep", {"[SEP]", 3}},
                                    {"trim_offsets", trim},
                                    {"add_prefix_space", add_prefix_space}};
    definition["added_tokens"].back()["lstrip"] = true;  // [MASK]
    definition["added_tokens"].back()["rstrip"] = true;
    directory.write("tokenizer.json", definition.dump());
    const Encoding pair = directory.load().encode("a", "b", 0);
    EXPECT_THAT(pair.ids, ElementsAre(2, 5, 3, 3, 6, 3));
    EXPECT_THAT(pair.type_ids, testing::Each(0));
    return offsets_of(directory.load().encode(text, std::nullopt, 0));
  };
  EXPECT_EQ(offsets(false, false, "a  [MASK] b"), "0-0 0-1 1-10 10-11 0-0");
  EXPECT_EQ(offsets(true, false, "a  [MASK] b"), "0-0 0-1 3-9 10-11 0-0");
  EXPECT_EQ(offsets(true, false, "  [MASK]"), "0-0 2-8 0-0");
  EXPECT_EQ(offsets(true, true, " [MASK]"), "0-0 0-7 0-0");
  EXPECT_EQ(offsets(true, true, "  [MASK]"), "0-0 2-8 0-0");
}

TEST(TokenizerJson, AddedTokensOfWhiteSpace) {
  json definition = small_tokenizer({"x"});
  definition["added_tokens"].push_back(added_token("\t", 6));
  definition["added_tokens"].back()["lstrip"] = true;
  definition["added_tokens"].back()["rstrip"] = true;
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  const TextEncoder tokenizer = directory.load();
  EXPECT_EQ(offsets_of(tokenizer.encode("\t\t", std::nullopt, 0)), "0-0 0-2 0-0");
  EXPECT_EQ(offsets_of(tokenizer.encode("x \t \t x", std::nullopt, 0)), "0-0 0-1 1-6 6-7 0-0");
  // Linear time: in quadratic time, this would take minutes.
  EXPECT_EQ(tokenizer.encode(std::string(1000000, '\t'), std::nullopt, 0).ids.size(), 3);
}

TEST(TokenizerJson, AddedTokensOfTheConfigAreAdded) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a"}).dump());
  json token = added_token("<new>", 6);
  token.erase("id");
  directory.write("tokenizer_config.json", json{{"added_tokens_decoder", {{"6", token}}}}.dump());
  EXPECT_EQ(tokens_of(directory.load(), "a<new>"), "a <new>");
}

// Line 344 of bert-base-chinese's vocab.txt is only white space.
TEST(VocabTxt, AnEmptyTokenCountsWhenAddedTokensAreNumbered) {
  const TestDirectory directory;
  directory.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n\xe2\x80\xa8\nb\n");
  directory.write("added_tokens.json", R"({"<new>": 6})");
  const TextEncoder tokenizer = directory.load();
  EXPECT_THAT(tokenizer.encode("a<new> b", std::nullopt, 0).ids, ElementsAre(1, 3, 6, 5, 2));
  EXPECT_EQ(tokenizer.vocabulary_size(), 7);
}

TEST(TokenizerJson, DisagreementsAreNoted) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a"}).dump());
  directory.write("tokenizer_config.json", R"({"do_lower_case": true, "model_max_length": 512})");
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  EXPECT_THAT(directory.load().notes(), IsEmpty());
  EXPECT_EQ(directory.load().default_max_length(), 512);
  directory.write("tokenizer_config.json",
                  R"({"do_lower_case": false, "unk_token": "<unk>", "strip_accents": false})");
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\n");
  EXPECT_THAT(directory.load().notes(),
              ElementsAre(HasSubstr("do_lower_case is false"), HasSubstr("strip_accents is false"),
                          HasSubstr("unk_token is \"<unk>\""),
                          HasSubstr("line 6 is not the token of id 5")));
  EXPECT_EQ(tokens_of(directory.load(), "A"), "a");
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
}

TEST(VocabTxt, RepeatedAndBadLines) {
  const TestDirectory directory;
  directory.write("vocab.txt", kLines + "a\n");
  EXPECT_EQ(directory.load().encode("a", std::nullopt, 0).ids[1], 8);
  EXPECT_THAT(directory.load().notes()[0],
              HasSubstr("line 9 repeats \"a\" from line 6, so id 5 is"));
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
  EXPECT_EQ(tokens(R"({"clean_text": false})", "a\x01"), "[UNK]");
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
            (std::vector<int32_t>{0, 3, 6, 5, 1}));
  EXPECT_THAT(directory.load().notes()[0], HasSubstr("cls_token is \"<x>\""));
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
  EXPECT_THAT(encode("{}", R"({"additional_special_tokens": ["<x>"]})", "a<x>").ids,
              ElementsAre(2, 5, 9, 3));
  EXPECT_THAT(encode(R"({"extra_special_tokens": {"image": "<x>"}})", "{}", "a<x>").ids,
              ElementsAre(2, 5, 9, 3));
  EXPECT_THAT(encode(R"({"bos_token": "<s>"})", "{}", "<s>a").ids, ElementsAre(2, 8, 5, 3));
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
  EXPECT_EQ(error(R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
            file +
                "tokenizer_class: found \"BertJapaneseTokenizer\", expected BertTokenizer, an "
                "equivalent class, MPNetTokenizer or EsmTokenizer");
  EXPECT_EQ(error(R"({"word_tokenizer_type": "mecab"})"),
            file + "word_tokenizer_type: found \"mecab\", expected \"basic\"");
  directory.write("config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_THAT(error("{}"), HasSubstr("config.json: tokenizer_class: found \"BertJ"));
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
  EXPECT_EQ(error(R"({"model_max_length": 1e999})"),
            file + "not valid JSON: number overflow parsing '1e999'");
  EXPECT_EQ(error(R"({"truncation_side": "up"})"),
            file + "truncation_side: found \"up\", expected \"left\" or \"right\"");
  EXPECT_EQ(error(R"({"sep_token": 1})"), file + "sep_token: found 1, expected a string");
  EXPECT_EQ(error(R"({"sep_token": "<s>"})"),
            "vocab.txt: the sep_token \"<s>\" is not in the vocabulary");
  EXPECT_THAT(error(R"({"added_tokens_decoder": {"x": {"content": "x", "single_word": false,
      "lstrip": true, "rstrip": false, "normalized": false, "special": true}}})"),
              HasSubstr("added_tokens_decoder[\"x\"]: the key is not an id"));
}

}  // namespace
}  // namespace bert::tokenizer
