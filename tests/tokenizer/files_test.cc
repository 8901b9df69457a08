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
  EXPECT_EQ(
      error_of([](json& d) { d["version"] = "\u00e9" + std::string(100, '.'); }),
      json_file + "version: found \"\\u00e9" + std::string(53, '.') + "..., expected \"1.0\"");
  EXPECT_EQ(error_of([](json& d) { d.erase("model"); }), json_file + "\"model\" is missing");
  EXPECT_THAT(
      error_of([](json& d) { d["normalizer"]["type"] = "Upper"; }),
      StartsWith(json_file + "normalizer.type: found \"Upper\", expected \"BertNormalizer\", "));
  EXPECT_EQ(error_of([](json& d) { d["normalizer"] = nullptr; }), "");
  EXPECT_EQ(error_of([](json& d) { d["normalizer"]["lowercase"] = 1; }),
            json_file + "normalizer.lowercase: found 1, expected true or false");
  EXPECT_THAT(error_of([](json& d) { d["pre_tokenizer"]["type"] = "UnicodeScripts"; }),
              StartsWith(json_file + "pre_tokenizer.type: found \"UnicodeScripts\", expected "));
}

TEST(TokenizerJson, SaysWhatIsWrongWithModels) {
  const std::string json_file = "tokenizer.json: ";
  EXPECT_EQ(error_of([](json& d) { d["model"]["type"] = "Char"; }),
            json_file +
                "model.type: found \"Char\", expected \"WordPiece\", \"WordLevel\", "
                "\"Unigram\" or \"BPE\"");
  EXPECT_EQ(error_of([](json& d) { d["model"].erase("type"); }), "");
  EXPECT_EQ(error_of([](json& d) { d["truncation"] = {{"max_length", INT32_MAX}}; }), "");
  EXPECT_EQ(error_of([](json& d) { d["model"]["merges"] = json::array(); }),
            json_file + "model: found \"merges\", which WordPiece does not have");
  EXPECT_EQ(error_of([](json& d) { d["model"].erase("unk_token"); }),
            json_file + "model: \"unk_token\" is missing");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = -1; }),
            json_file + "model.vocab[\"a\"]: found -1, expected an integer from 0 to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = 1.5; }),
            json_file + "model.vocab[\"a\"]: found 1.5, expected an integer from 0 to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = 18446744073709551615u; }),
            json_file +
                "model.vocab[\"a\"]: found 18446744073709551615, expected an integer from 0 "
                "to 4194303");
  EXPECT_EQ(error_of([](json& d) { d["model"]["vocab"]["a"] = 4194304; }),
            json_file + "model.vocab: found id 4194304, expected at most 4194303");
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

TEST(TokenizerJson, SaysWhatIsWrongWithTemplates) {
  const auto error = [](const std::function<void(json&)>& change) {
    return error_of([&](json& d) { change(d["post_processor"]); });
  };
  const auto sequence = [](const char* id) {
    return json{{"Sequence", {{"id", id}, {"type_id", 0}}}};
  };
  EXPECT_THAT(error([&](json& p) { p["single"].push_back(sequence("A")); }),
              HasSubstr("found sequence A 2 times and B 0 times, expected A once"));
  EXPECT_THAT(error([&](json& p) { p["single"][1] = sequence("B"); }),
              HasSubstr("found \"B\", expected \"A\", as there is only one text"));
  EXPECT_THAT(error([&](json& p) { p["pair"][1] = sequence("C"); }),
              HasSubstr("found \"C\", expected \"A\" or \"B\""));
  EXPECT_THAT(error([](json& p) { p["special_tokens"]["[SEP]"]["tokens"].push_back("x"); }),
              HasSubstr("found 1 ids and 2 tokens, expected equal numbers"));
  EXPECT_THAT(error([](json& p) {
                p = {{"type", "Sequence"}, {"processors", {p, p}}};
              }),
              HasSubstr("found a TemplateProcessing after one that makes more than two parts"));
}

TEST(TokenizerJson, SaysWhatIsWrongWithPreTokenizers) {
  const auto error = [](const json& pre_tokenizer) {
    return error_of([&](json& d) { d["pre_tokenizer"] = pre_tokenizer; });
  };
  EXPECT_THAT(error({{"type", "FixedLength"}, {"length", 0}}),
              HasSubstr("length: found 0, expected an integer from 1 to 2147483647"));
  json metaspace = {{"type", "Metaspace"}, {"replacement", "__"}};
  EXPECT_THAT(error(metaspace), HasSubstr("found \"__\", expected a string of one character"));
  metaspace["replacement"] = "_";
  metaspace["prepend_scheme"] = "last";
  EXPECT_THAT(error(metaspace), HasSubstr("expected \"always\", \"first\" or \"never\""));
  metaspace["prepend_scheme"] = "always";
  metaspace["add_prefix_space"] = false;
  EXPECT_THAT(error(metaspace), HasSubstr("expected \"never\", as add_prefix_space is false"));
}

TEST(TokenizerJson, SaysWhatIsWrongWithBytePairs) {
  const auto error = [](const char* name, const json& value) {
    return error_of([&](json& d) {
      d["model"] = {{"type", "BPE"}, {"vocab", d["model"]["vocab"]}, {"merges", json::array()}};
      d["model"][name] = value;
    });
  };
  const std::string model = "tokenizer.json: model.";
  EXPECT_EQ(error("merges", {{"a", "b", "c"}}), model + "merges[0]: expected two tokens");
  EXPECT_EQ(error("merges", {"a b c"}),
            model + "merges[0]: found \"a b c\", expected two tokens and a space between them");
  EXPECT_EQ(error("merges", {"#version: 0.2 x"}), "");
  EXPECT_EQ(error("dropout", 0.1),
            model + "dropout: found 0.1, expected none, as it makes tokens random");
  EXPECT_EQ(error("dropout", 0), "");
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    EXPECT_EQ(error_of([&](json& d) {
                d["model"] = {{"type", "BPE"},
                              {"vocab", d["model"]["vocab"]},
                              {"byte_fallback", true},
                              {"merges", json::array()},
                              {name, "##"}};
              }),
              model + "byte_fallback: found true, expected false with a prefix or a suffix");
  }
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
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(tokens_of(directory.load(), "a [MASK]"), "a [MASK]");  // by the class's default
  EXPECT_EQ(directory.load().mask_id(), 4);
  directory.remove("tokenizer_config.json");
  directory.write("config.json", R"({"model_type": "electra"})");
  EXPECT_EQ(tokens_of(directory.load(), "a [MASK]"), "a [MASK]");
  directory.write("tokenizer_config.json", R"({"mask_token": null})");
  EXPECT_EQ(tokens_of(directory.load(), "a [MASK]"), "a [UNK] [UNK] [UNK]");
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
  directory.write("tokenizer.json", "[1,]");
  EXPECT_EQ(directory.error(), "tokenizer.json: not valid JSON at byte 3");
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
  EXPECT_FALSE(directory.load().truncates_left());
  EXPECT_THAT(directory.load().notes(),
              ElementsAre(HasSubstr("\"OnlyFirst\" is ignored, \"LongestFirst\" is used")));
  definition["truncation"]["direction"] = "Left";
  directory.write("tokenizer.json", definition.dump());
  directory.write("tokenizer_config.json", R"({"model_max_length": 256})");
  EXPECT_EQ(directory.load().default_max_length(), 256);
  EXPECT_TRUE(directory.load().truncates_left());
  directory.write("tokenizer_config.json", R"({"truncation_side": "right"})");
  EXPECT_FALSE(directory.load().truncates_left());
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
  token["content"] = "[MASK]";  // tokenizer.json has it, too, but its flags do not count
  token["lstrip"] = true;
  token["special"] = false;
  directory.write("tokenizer_config.json", json{{"added_tokens_decoder", {{"4", token}}}}.dump());
  const TextEncoder tokenizer = directory.load();
  const Encoding encoding = tokenizer.encode("a  [MASK]", std::nullopt, 0);
  EXPECT_EQ(offsets_of(encoding), "0-0 0-1 1-9 0-0");
  EXPECT_EQ(tokenizer.decode(encoding.ids, true), "a");  // what is special stays so
  EXPECT_EQ(tokenizer.mask_id(), 4);
  directory.write("tokenizer_config.json",
                  R"({"mask_token": {"content": "[MASK]", "lstrip": true}})");
  directory.write("added_tokens.json", R"({"[MASK]": 4})");  // without flags
  EXPECT_EQ(offsets_of(directory.load().encode("a  [MASK]", std::nullopt, 0)), "0-0 0-1 3-9 0-0");
}

// Which of two files that disagree transformers uses.
TEST(TokenizerJson, AnAddedTokensDecoderDecidesWhichFilesCount) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a", "<m>"}).dump());
  directory.write("special_tokens_map.json",
                  R"({"mask_token": "[MASK]", "additional_special_tokens": ["<x>"]})");
  directory.write("added_tokens.json", R"({"<y>": 8})");
  directory.write("tokenizer_config.json", R"({"mask_token": "<m>"})");
  const TextEncoder older = directory.load();
  EXPECT_EQ(older.mask_id(), 4);
  EXPECT_THAT(older.notes(), ElementsAre(HasSubstr("config.json: mask_token is \"<m>\", but"),
                                         HasSubstr("the added token \"<y>\" has id 7")));
  EXPECT_EQ(older.find("<x>"), 8);
  directory.write("tokenizer_config.json", R"({"mask_token": "<m>", "added_tokens_decoder": {}})");
  const TextEncoder newer = directory.load();
  EXPECT_EQ(newer.mask_id(), 6);
  EXPECT_THAT(newer.notes(), ElementsAre(HasSubstr("map.json: mask_token is \"[MASK]\", but")));
  EXPECT_EQ(newer.find("<x>"), -1);
  EXPECT_EQ(newer.find("<y>"), -1);
}

TEST(TokenizerJson, TheMaskIsASpecialToken) {
  const TestDirectory directory;
  json definition = small_tokenizer({"a", "<mask>"});
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(directory.load().mask_id(), 4);
  directory.write("tokenizer_config.json", R"({"mask_token": "<mask>"})");
  EXPECT_EQ(directory.load().mask_id(), 6);
  directory.write("tokenizer_config.json", R"({"mask_token": null})");
  EXPECT_EQ(directory.load().mask_id(), -1);
  directory.remove("tokenizer_config.json");
  definition["added_tokens"].back()["special"] = false;
  directory.write("tokenizer.json", definition.dump());
  EXPECT_EQ(directory.load().mask_id(), -1);
}

TEST(TokenizerJson, DisagreementsAreNoted) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a"}).dump());
  directory.write("tokenizer_config.json", R"({"do_lower_case": true, "model_max_length": 512})");
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  EXPECT_THAT(directory.load().notes(), IsEmpty());
  EXPECT_EQ(directory.load().default_max_length(), 512);
  directory.write("tokenizer_config.json",
                  R"({"do_lower_case": false, "unk_token": "<unk>", "strip_accents": false,
                      "tokenize_chinese_chars": false, "clean_text": false})");
  directory.write("special_tokens_map.json", R"({"unk_token": "[UNK]"})");
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\n");
  EXPECT_THAT(
      directory.load().notes(),
      ElementsAre(HasSubstr("tokenizer_config.json: unk_token is \"<unk>\""),
                  HasSubstr("do_lower_case is false"), HasSubstr("strip_accents is false"),
                  HasSubstr("tokenize_chinese_chars is false"), HasSubstr("clean_text is false"),
                  HasSubstr("line 6 is not the token of id 5")));
  EXPECT_EQ(tokens_of(directory.load(), "A"), "a");
  directory.remove("special_tokens_map.json");
  EXPECT_THAT(directory.load().notes(), testing::Contains(HasSubstr("unk_token is \"<unk>\"")));
  directory.write("tokenizer_config.json", R"({"do_lower_case": false})");
  json definition = small_tokenizer({"a"});
  definition["normalizer"] = nullptr;  // not of the fast pipeline, whose switches these are
  directory.write("tokenizer.json", definition.dump());
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  EXPECT_THAT(directory.load().notes(), ElementsAre(HasSubstr("line 6 is not the token of id 5")));
  definition["model"]["type"] = "WordLevel";  // vocab.txt is not of that
  directory.write("tokenizer.json", definition.dump());
  EXPECT_THAT(directory.load().notes(), IsEmpty());
}

TEST(TokenizerJson, DisagreementsWithTheDefaultsOfAClassAreNoted) {
  const TestDirectory directory;
  json definition = small_tokenizer({"a"});
  definition["normalizer"]["lowercase"] = false;
  directory.write("tokenizer.json", definition.dump());
  directory.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast"})");
  EXPECT_THAT(directory.load().notes(),
              ElementsAre(HasSubstr("do_lower_case is true by default for BertTokenizerFast, but"),
                          HasSubstr("strip_accents is true by default")));
  for (const char* config : {R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})",
                             R"({"tokenizer_class": "PreTrainedTokenizerFast"})", "{}"}) {
    directory.write("tokenizer_config.json", config);
    EXPECT_THAT(directory.load().notes(), IsEmpty());
  }
  directory.write("tokenizer_config.json", R"({"split_special_tokens": true})");
  EXPECT_EQ(directory.error(),
            "tokenizer_config.json: split_special_tokens: found true, expected false");
}

TEST(TokenizerJson, LinesOfVocabTxtLoseTheirTrailingWhiteSpace) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a", "\u2028", "b "}).dump());
  directory.write("vocab.txt", "[PAD]\r\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\r\n\r\nb \n");
  EXPECT_THAT(directory.load().notes(), IsEmpty());
}
}  // namespace
}  // namespace bert::tokenizer
