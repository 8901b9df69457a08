// SPDX-License-Identifier: Apache-2.0
//
// Choices, and the errors of a model asked for something that it has no head for.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::error_of;
using test::load_golden;
using test::same_bits;
using testing::HasSubstr;

const std::vector<Choices> kQuestions = {
    {"the girl is walking", {"a dog", "on the beach", "two men play the piano, and a guitar"}},
    {"a dog", {"on the beach"}},
    {"", {"", "not empty", "a", "b", "c", "d"}},
    {"two", {"the same", "the same"}}};

class Choose : public testing::TestWithParam<const char*> {};

TEST_P(Choose, IsASoftmaxOverTheLogitsOfThePairs) {
  const Model model = load_golden(GetParam(), 2);
  EXPECT_EQ(model.info().task, Task::choose);
  const std::vector<Choice> got = model.choose(kQuestions);
  ASSERT_EQ(got.size(), kQuestions.size());
  for (size_t i = 0; i < got.size(); ++i) {
    std::vector<Input> pairs;
    for (const std::string& choice : kQuestions[i].choices) {
      pairs.push_back({kQuestions[i].first, choice});
    }
    const std::vector<float> logits = model.run(pairs).values;
    EXPECT_TRUE(same_bits(got[i].logits, logits)) << i;
    const std::vector<double> want = test::softmax(logits);
    ASSERT_EQ(got[i].probabilities.size(), want.size());
    for (size_t j = 0; j < want.size(); ++j) {
      EXPECT_NEAR(got[i].probabilities[j], want[j], 1e-6);
    }
    EXPECT_EQ(got[i].index, std::ranges::max_element(want) - want.begin());
    int32_t tokens = 0;
    for (const Encoding& encoding : model.tokenize(pairs)) {
      tokens += static_cast<int32_t>(encoding.ids.size());
    }
    EXPECT_EQ(got[i].tokens, tokens);
    EXPECT_FALSE(got[i].truncated);
    const Choice alone = load_golden(GetParam()).choose({&kQuestions[i], 1})[0];
    EXPECT_TRUE(same_bits(alone.logits, got[i].logits));
  }
  EXPECT_EQ(got[3].index, 0) << "the first of equals";
}

INSTANTIATE_TEST_SUITE_P(Families, Choose,
                         testing::Values("bert-choice", "distilbert-choice", "electra-choice",
                                         "albert-choice", "rembert-choice", "xlm-roberta-choice",
                                         "camembert-choice", "mpnet-choice"));

TEST(Choose, SaysWhichChoicesAreTruncatedAndWhichInputIsWrong) {
  const Model model = load_golden("bert-choice", 1, Precision::automatic, 13);
  const std::vector<Choice> got = model.choose(kQuestions);
  EXPECT_TRUE(got[0].truncated);
  EXPECT_FALSE(got[1].truncated);
  const std::vector<Choices> long_and_short = {{"a", {"b c d e f g h i j k l m n", "b"}}};
  EXPECT_TRUE(model.choose(long_and_short)[0].truncated);
  const auto error = [&](const std::vector<Choices>& questions) {
    return error_of([&] { model.choose(questions); });
  };
  EXPECT_THAT(error({{"a", {"b"}}, {"c", {}}}), HasSubstr("input 1: no choices"));
  EXPECT_THAT(error({{"a", {"b", "c", "d"}}, {"e", {"f", "\xff"}}}),
              HasSubstr("input 1: choice 1: "));
  EXPECT_TRUE(model.choose(std::span<const Choices>()).empty());
}

// Every call that needs a head, on a model that has another.
TEST(Heads, MissingOnesAreNamedWithTheOneThereIs) {
  const std::vector<Input> inputs = {{"a", "b"}};
  using Call = std::function<void(const Model&)>;
  const std::map<std::string, Call> calls = {
      {"fill-mask", [&](const Model& model) { model.fill_mask(inputs); }},
      {"tag", [&](const Model& model) { model.tag(inputs); }},
      {"answer", [&](const Model& model) { model.answer(inputs); }},
      {"choose", [&](const Model& model) { model.choose(kQuestions); }},
      {"a whole input", [&](const Model& model) { model.run(inputs); }},
      {"each token", [&](const Model& model) { model.run_tokens(inputs); }}};
  struct Case {
    const char *model, *architecture, *has;
    std::vector<std::string> allowed;
  };
  const Case cases[] = {
      {"bert-mlm", "BertForMaskedLM", "its head is for fill-mask", {"fill-mask", "each token"}},
      {"bert-tokens", "BertForTokenClassification", "its head is for tag", {"tag", "each token"}},
      {"xlm-roberta-qa",
       "XLMRobertaForQuestionAnswering",
       "its head is for answer",
       {"answer", "each token"}},
      {"mpnet-choice",
       "MPNetForMultipleChoice",
       "its head is for choose",
       {"choose", "a whole input"}},
      {"plain", "BertForSequenceClassification", "its head is for classify", {"a whole input"}},
      {"electra-pretraining", "ElectraForPreTraining", "its head is for detect", {"each token"}},
      {"pretraining",
       "BertForPreTraining",
       "its head is for fill-mask",
       {"fill-mask", "a whole input", "each token"}},
      {"distilbert", "DistilBertModel", "it only embeds", {}}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.model);
    const Model model = load_golden(one.model);
    for (const auto& [wanted, call] : calls) {
      const auto& run = call;  // Clang 14 cannot capture call itself
      const std::string error = error_of([&] { run(model); });
      if (std::ranges::count(one.allowed, wanted)) {
        EXPECT_EQ(error, "no error") << wanted;
      } else {
        EXPECT_THAT(error, HasSubstr(one.architecture));
        EXPECT_THAT(error, HasSubstr(wanted + ": " + one.has));
      }
    }
    EXPECT_EQ(error_of([&] { model.embed(inputs); }), "no error");
    EXPECT_EQ(error_of([&] { model.hidden(inputs); }), "no error");
  }
}

}  // namespace
}  // namespace bert
