// SPDX-License-Identifier: Apache-2.0
//
// Weights that are NaN or infinite are refused when they are read; those that are read in place, by
// the answers that they spoil.
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Options with(Precision precision) {
  Options options;
  options.precision = precision;
  options.threads = 2;
  return options;
}

TEST(NonFinite, WeightsAreRefusedByTensorAndPlace) {
  const std::string layer = "bert.encoder.layer.1.";
  const std::tuple<std::string, size_t, std::string> cases[] = {
      {layer + "attention.self.key.weight", 48 * 47 + 5, "[47, 5]"},
      {layer + "attention.output.dense.weight", 0, "[0, 0]"},
      {layer + "intermediate.dense.weight", 48 * 191 + 47, "[191, 47]"},
      {layer + "output.dense.bias", 47, "[47]"},
      {layer + "output.LayerNorm.weight", 3, "[3]"},
      {"bert.embeddings.position_embeddings.weight", 48 * 200 + 1, "[200, 1]"},
      {"bert.embeddings.token_type_embeddings.weight", 48, "[1, 0]"},
      {"bert.embeddings.LayerNorm.bias", 0, "[0]"},
      {"bert.pooler.dense.weight", 48 * 2, "[2, 0]"},
      {"classifier.weight", 2, "[0, 2]"},
      {"classifier.bias", 2, "[2]"}};
  for (const auto& [tensor, index, place] : cases) {
    for (const auto& [value, shown] :
         {std::pair{kNan, "nan"}, {kInfinity, "inf"}, {-kInfinity, "-inf"}}) {
      const CopiedModel copy("plain");
      copy.change_tensor(tensor, [&, at = index, v = value](float* values, size_t count) {
        ASSERT_LT(at, count);
        values[at] = v;
      });
      for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
        EXPECT_EQ(error_of([&] { Model::load(copy.path(), with(precision)); }),
                  copy.path("model.safetensors") + ": tensor '" + tensor + "'" + place + " is " +
                      shown + ", expected a finite number")
            << static_cast<int>(precision);
      }
    }
  }
}

// Where weights are copied, widened or kept as they are.
TEST(NonFinite, WeightsOf16BitsAreCheckedToo) {
  for (const auto& [golden, nan] : {std::pair{"tinybert", 0x7e00}, {"bf16", 0x7fc0}}) {
    for (const char* tensor :
         {"bert.encoder.layer.0.attention.self.key.weight",
          "bert.encoder.layer.0.output.dense.bias", "bert.embeddings.position_embeddings.weight"}) {
      const CopiedModel copy(golden);
      copy.change_tensor<uint16_t>(tensor, [&, bits = nan](uint16_t* values, size_t count) {
        values[count - 1] = static_cast<uint16_t>(bits);
      });
      for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
        EXPECT_THAT(error_of([&] { Model::load(copy.path(), with(precision)); }),
                    AllOf(HasSubstr(tensor), HasSubstr("is nan, expected a finite number")))
            << golden;
      }
    }
  }
}

// In tables of other families.
TEST(NonFinite, OtherTablesAreCheckedToo) {
  for (const auto& [golden, tensor] :
       {std::pair{"mpnet", "encoder.relative_attention_bias.weight"},
        {"relative-key", "bert.encoder.layer.0.attention.self.distance_embedding.weight"},
        {"xlm-roberta-untied", "lm_head.bias"},
        {"albert", "encoder.embedding_hidden_mapping_in.weight"}}) {
    const CopiedModel copy(golden);
    copy.change_tensor(tensor, [](float* values, size_t count) { values[count - 1] = kNan; });
    EXPECT_THAT(test::load_error(copy), AllOf(HasSubstr(tensor), HasSubstr("is nan, expected a")))
        << golden;
  }
}

// The table of word embeddings is not read when a model is loaded.
TEST(NonFinite, AnswersAreErrorsThatNameTheInputAndTheModel) {
  const auto spoiled = [](const CopiedModel& copy, const std::string& table) {
    copy.change_tensor(table, [](float* values, size_t count) { values[count - 1] = kNan; });
    return Model::load(copy.path(), with(Precision::f32));
  };
  const auto expected = [](const CopiedModel& copy) {
    return "input 1: the model of " + copy.path("model.safetensors") +
           " produced nan, expected finite numbers";
  };
  const auto last_id = [](const Model& model) {
    return static_cast<int32_t>(model.info().vocabulary - 1);
  };
  {
    const CopiedModel copy("plain");
    const Model model = spoiled(copy, "bert.embeddings.word_embeddings.weight");
    const std::vector<Encoding> inputs = {
        {.ids = {2, 7, 3}, .type_ids = {0, 0, 0}, .offsets = {}},
        {.ids = {2, last_id(model), 3}, .type_ids = {0, 0, 0}, .offsets = {}}};
    const std::vector<int> layers = {0};
    const std::span<const Encoding> all(inputs);
    EXPECT_EQ(error_of([&] { model.run(all); }), expected(copy));
    EXPECT_EQ(error_of([&] { model.embed(all); }), expected(copy));
    EXPECT_EQ(error_of([&] { model.hidden(all, {}); }), expected(copy));
    EXPECT_EQ(error_of([&] { model.attention(all, layers); }), expected(copy));
    EXPECT_EQ(error_of([&] { model.run(all.first(1)); }), "no error");
  }
  {
    const CopiedModel copy("bert-mlm");
    const Model model = spoiled(copy, "bert.embeddings.word_embeddings.weight");
    const int32_t mask = model.tokenizer().mask_id();
    const std::vector<Encoding> inputs = {
        {.ids = {2, 7, 3}, .type_ids = {0, 0, 0}, .offsets = {}},
        {.ids = {2, mask, last_id(model), 3}, .type_ids = {0, 0, 0, 0}, .offsets = {}}};
    EXPECT_THAT(error_of([&] { model.run_tokens(std::span<const Encoding>(inputs)); }),
                HasSubstr("produced nan"));
    EXPECT_EQ(error_of([&] { model.fill_mask(std::span<const Encoding>(inputs), 3); }),
              expected(copy));
  }
  for (const char* golden : {"colbert", "splade"}) {
    const CopiedModel copy(golden);
    const Model model = spoiled(copy, "bert.embeddings.word_embeddings.weight");
    const std::vector<Encoding> inputs = {
        {.ids = {2, 7, 3}, .type_ids = {0, 0, 0}, .offsets = {}},
        {.ids = {2, last_id(model), 3}, .type_ids = {0, 0, 0}, .offsets = {}}};
    const std::span<const Encoding> all(inputs);
    if (model.info().has_sparse) {  // the decoder shares the table
      EXPECT_THAT(error_of([&] { model.sparse(all); }), HasSubstr("produced nan"));
    } else {
      EXPECT_EQ(error_of([&] { model.multi_vector(all, Role::document); }), expected(copy));
    }
  }
}

// The embedding of "man" is NaN, and "violin" has none: both are errors of input 1, although the
// texts of input 0 are encoded in several parts.
void expect_errors_of_input_1(const char* golden,
                              const std::function<void(const Model&, const std::string& others,
                                                       const std::string& word)>& call) {
  SCOPED_TRACE(golden);
  const CopiedModel copy(golden);
  copy.change("config.json",
              {{"id2label", {{"0", "a"}, {"1", "b"}, {"2", "entailment"}}}, {"label2id", nullptr}});
  copy.write_json("added_tokens.json", {{"violin", 200}});
  const int32_t man = Tokenizer::load(copy.path()).encode({"man"}).ids[1];
  copy.change_tensor("bert.embeddings.word_embeddings.weight",
                     [&](float* values, size_t count) { values[man * count / 200] = kNan; });
  Options options = with(Precision::f32);
  options.max_length = 16;
  const Model model = Model::load(copy.path(), options);
  const std::string others = "a dog a dog a dog a dog a dog a dog a dog a dog a dog a dog a dog";
  const auto error = [&](const char* word) { return error_of([&] { call(model, others, word); }); };
  EXPECT_THAT(error("man"), testing::MatchesRegex("input 1: the model of .* produced nan, .*"));
  EXPECT_THAT(error("violin"),
              testing::MatchesRegex("input 1: ids\\[[0-9]+\\] is 200, outside .*"));
  EXPECT_EQ(error("dog"), "no error");
}

TEST(NonFinite, AnswersOfSeveralPartsNameTheInput) {
  expect_errors_of_input_1("bert-tokens", [](const Model& model, const auto& others, auto& word) {
    model.tag(std::vector<Input>{{others}, {word}});
  });
  expect_errors_of_input_1("bert-qa", [](const Model& model, const auto& others, auto& word) {
    model.answer(std::vector<Input>{{"a", others}, {"a", word}});
  });
  expect_errors_of_input_1("bert-choice", [](const Model& model, const auto& others, auto& word) {
    model.choose(std::vector<Choices>{{"a", {others, "b"}}, {"a", {"b", word}}});
  });
  expect_errors_of_input_1("plain", [](const Model& model, const auto& others, auto& word) {
    zero_shot(model, std::vector<std::string>{others, word}, std::vector<std::string>{"a", "b"},
              {.hypothesis = "is {}"});
  });
}

}  // namespace
}  // namespace bert
