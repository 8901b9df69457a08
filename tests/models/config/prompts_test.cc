// SPDX-License-Identifier: Apache-2.0
//
// The prompts that config_sentence_transformers.json puts before texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::load_error;
using test::same_bits;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<Input> kPrompted = {
    {"a man plays the guitar"}, {"two dogs"}, {"", "the beach"}, {"the girl is walking", "music"}};

const json kPrompts = {{"query", "the dogs: "}, {"passage", "a"}, {"nothing", ""}};

Output embed_with(const CopiedModel& copy, const std::string& prompt,
                  std::span<const Input> texts) {
  Options options;
  options.prompt = prompt;
  return Model::load(copy.path(), options).embed(texts);
}

std::vector<Input> after(const std::string& prompt) {
  std::vector<Input> texts = kPrompted;
  for (Input& text : texts) text.first = prompt + text.first;
  return texts;
}

TEST(Prompts, ArePutBeforeEachFirstText) {
  const Model plain = Model::load(test::golden("st-mean"));
  const auto want = [&](const std::string& prompt) { return plain.embed(after(prompt)).values; };
  const CopiedModel copy("st-mean");
  const auto configure = [&](const json& usual) {
    copy.write_json("config_sentence_transformers.json",
                    {{"prompts", kPrompts}, {"default_prompt_name", usual}});
  };
  const auto got = [&](const std::string& name) {
    return embed_with(copy, name, kPrompted).values;
  };
  configure(nullptr);
  EXPECT_FALSE(same_bits(want("the dogs: "), want("")));
  EXPECT_TRUE(same_bits(got(""), want("")));
  EXPECT_TRUE(same_bits(got("query"), want("the dogs: ")));
  EXPECT_TRUE(same_bits(got("passage"), want("a"))) << "without a separator";
  EXPECT_TRUE(same_bits(got("nothing"), want("")));
  configure("query");
  EXPECT_TRUE(same_bits(got(""), want("the dogs: ")));
  EXPECT_TRUE(same_bits(got("passage"), want("a")));
  const Model model = Model::load(copy.path());
  EXPECT_THAT(model.info().notes, testing::Contains(HasSubstr("\"the dogs: \"")));
  const std::vector<Encoding> encodings = plain.tokenize(after("the dogs: "));
  for (size_t i = 0; i < kPrompted.size(); ++i) {
    EXPECT_EQ(model.tokenize({&kPrompted[i], 1})[0].ids, encodings[i].ids);
    EXPECT_EQ(model.tokenizer().encode(kPrompted[i]).ids, encodings[i].ids);
  }
  const Encoding pair = model.tokenizer().encode({"a man", "a"});  // after [CLS] the dogs :
  EXPECT_EQ(std::pair(pair.first.begin, pair.first.end), std::pair(1, 6));  // with the prompt's
  EXPECT_EQ(std::pair(pair.offsets[3].begin, pair.offsets[3].end), std::pair(0, 0));
  EXPECT_EQ(std::pair(pair.offsets[5].begin, pair.offsets[5].end), std::pair(2, 5));
  EXPECT_EQ(std::pair(pair.offsets[7].begin, pair.offsets[7].end), std::pair(0, 1));
}

TEST(Prompts, UnknownNamesAreRefused) {
  const CopiedModel copy("st-mean");
  const std::string path = copy.path("config_sentence_transformers.json");
  EXPECT_THAT(load_error(copy, "query"), AllOf(HasSubstr(path), HasSubstr("none at all")));
  const auto configure = [&](const json& content) {
    copy.write_json("config_sentence_transformers.json", content);
  };
  configure({{"prompts", kPrompts}});
  EXPECT_EQ(load_error(copy, "query"), "no error");
  EXPECT_THAT(load_error(copy, "querry"), AllOf(HasSubstr(path), HasSubstr("no 'querry'"),
                                                HasSubstr("nothing, passage, query")));
  configure({{"prompts", kPrompts}, {"default_prompt_name", "document"}});
  EXPECT_THAT(load_error(copy), AllOf(HasSubstr(path), HasSubstr("default_prompt_name: found")));
  configure({{"prompts", {"query"}}});
  EXPECT_THAT(load_error(copy), AllOf(HasSubstr(path), HasSubstr("prompts: found")));
  configure({{"prompts", {{"query", nullptr}}}});
  EXPECT_EQ(load_error(copy, "query"), "no error");
  configure({{"prompts", {{"query", 3}}}});
  EXPECT_THAT(load_error(copy), AllOf(HasSubstr(path), HasSubstr("'query'")));
  configure({{"prompts", kPrompts}});
  copy.change("1_Pooling/config.json", {{"include_prompt", false}});
  EXPECT_THAT(load_error(copy), HasSubstr("include_prompt: found false"));
  auto pooling = json::parse(copy.read("1_Pooling/config.json"));
  pooling["include_prompt"] = nullptr;  // which is false in Python
  copy.write_json("1_Pooling/config.json", pooling);
  EXPECT_THAT(load_error(copy), HasSubstr("\"include_prompt\" is missing, expected true"));
}

TEST(Prompts, AreOnlyForEmbeddingsAndSequenceScores) {
  const json settings = {{"prompts", kPrompts}, {"default_prompt_name", "query"}};
  const CopiedModel answers("bert-qa"), scores("one-label");
  answers.write_json("config_sentence_transformers.json", settings);
  EXPECT_THAT(load_error(answers, "query"), AllOf(HasSubstr("'query'"), HasSubstr("BertFor")));
  EXPECT_EQ(Model::load(answers.path()).tokenize(kPrompted)[0].ids,
            Model::load(test::golden("bert-qa")).tokenize(kPrompted)[0].ids);
  const std::string type = "sentence_transformers.models.";  // embeds, although it has a head
  answers.write_json("modules.json", {{{"path", ""}, {"type", type + "Transformer"}},
                                      {{"path", "1_Pooling"}, {"type", type + "Pooling"}}});
  answers.write_json("1_Pooling/config.json", {{"pooling_mode", "mean"}});
  EXPECT_TRUE(same_bits(Model::load(answers.path()).embed(kPrompted).values,
                        Model::load(test::golden("bert-qa")).embed(after("the dogs: ")).values));
  scores.write_json("config_sentence_transformers.json", settings);  // a CrossEncoder's
  EXPECT_TRUE(same_bits(Model::load(scores.path()).run(kPrompted).values,
                        Model::load(test::golden("one-label")).run(after("the dogs: ")).values));
}

}  // namespace
}  // namespace bert
