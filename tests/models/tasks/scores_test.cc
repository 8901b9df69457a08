// SPDX-License-Identifier: Apache-2.0
//
// How the logits of a classification become scores: by transformers' problem_type, and by what
// sentence-transformers' CrossEncoder writes into config.json.
#include <cfenv>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

const char* const kOld = "sbert_ce_default_activation_function";
const char* const kNew = "sentence_transformers";
const char* const kSigmoid = "torch.nn.modules.activation.Sigmoid";
const char* const kRaw = "torch.nn.modules.linear.Identity";

json newer(const char* function) { return {{kNew, {{"activation_fn", function}}}}; }

Scores scores_of(const CopiedModel& copy, json changes) {
  if (!changes.contains("problem_type")) changes["problem_type"] = nullptr;
  for (const char* field : {kOld, kNew}) {
    if (!changes.contains(field)) changes[field] = nullptr;
  }
  copy.change("config.json", changes);
  return Model::load(copy.path()).info().scores;
}

TEST(ScoresOfAModel, OfOneLabelAreASigmoidUnlessSaidOtherwise) {
  const CopiedModel copy("one-label");
  EXPECT_EQ(scores_of(copy, {}), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, {{"problem_type", "single_label_classification"}}), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, {{"problem_type", "multi_label_classification"}}), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, {{"problem_type", "regression"}}), Scores::raw);
  EXPECT_EQ(scores_of(copy, {{kOld, kRaw}}), Scores::raw);
  EXPECT_EQ(scores_of(copy, {{kOld, kSigmoid}}), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, newer(kRaw)), Scores::raw);
  EXPECT_EQ(scores_of(copy, newer(kSigmoid)), Scores::sigmoid);
  json both = newer(kRaw);
  both[kOld] = kSigmoid;
  EXPECT_EQ(scores_of(copy, both), Scores::raw) << "the newer field counts";
  EXPECT_EQ(scores_of(copy, {{kNew, {{"version", "5.0.0"}}}, {kOld, kRaw}}), Scores::raw);
  EXPECT_EQ(scores_of(copy, {{kOld, kSigmoid}, {"problem_type", "regression"}}), Scores::sigmoid);
}

// As sentence-transformers 5.4 and later write it: modules.json, with nothing after the encoder,
// and a file of its own.
TEST(ScoresOfAModel, OfOneLabelAreWhatACrossEncodersOwnFileSays) {
  const CopiedModel copy("one-label");
  copy.write_json("modules.json",
                  {{{"idx", 0},
                    {"name", "0"},
                    {"path", ""},
                    {"type", "sentence_transformers.base.modules.transformer.Transformer"}}});
  const auto own = [&](const json& function) {
    copy.write_json("config_sentence_transformers.json",
                    {{"model_type", "CrossEncoder"}, {"activation_fn", function}});
    return scores_of(copy, newer(kSigmoid));
  };
  EXPECT_EQ(own(nullptr), Scores::sigmoid);
  EXPECT_EQ(own(kRaw), Scores::raw);
  EXPECT_EQ(own(kSigmoid), Scores::sigmoid);
  EXPECT_THAT(error_of([&] { own("torch.nn.modules.activation.Tanh"); }),
              AllOf(HasSubstr(copy.path("config_sentence_transformers.json")),
                    HasSubstr("activation_fn: found")));
}

TEST(ScoresOfAModel, OfSeveralLabelsAreASoftmaxUnlessSaidOtherwise) {
  const CopiedModel copy("plain");
  EXPECT_EQ(scores_of(copy, {}), Scores::softmax);
  // CrossEncoder's default for several labels; probabilities are still those of a pipeline.
  EXPECT_EQ(scores_of(copy, {{kOld, kRaw}}), Scores::softmax);
  EXPECT_EQ(scores_of(copy, newer(kSigmoid)), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, {{"problem_type", "multi_label_classification"}}), Scores::sigmoid);
  EXPECT_EQ(scores_of(copy, {{"problem_type", "regression"}}), Scores::raw);
}

TEST(ScoresOfAModel, OfOneLabelAreWhatTheFunctionSays) {
  const CopiedModel copy("one-label");
  scores_of(copy, {});
  const Model model = Model::load(copy.path());
  const std::vector<Input> pairs = {{"a man", "two dogs"}, {"the beach", "a guitar"}};
  const Output logits = model.run(pairs);
  for (int64_t i = 0; i < logits.rows; ++i) {
    const double want = 1 / (1 + std::exp(-static_cast<double>(logits.row(i)[0])));
    EXPECT_NEAR(probabilities(logits.row(i), model.info())[0], want, 1e-6);
    EXPECT_NEAR(best_label(logits.row(i), model.info()).probability, want, 1e-6);
  }
}

TEST(ScoresOfAModel, TheGreatestIsNoNaN) {
  Info info;
  info.labels = {"a", "b", "c"};
  info.scores = Scores::raw;
  EXPECT_EQ(best_label(std::vector{NAN, 1.0f, 2.0f}, info).index, 2);
}

TEST(ScoresOfAModel, OfAnUnknownFunctionAreRefusedByFileAndField) {
  const CopiedModel copy("one-label");
  const auto error = [&](const json& changes) {
    return error_of([&] { scores_of(copy, changes); });
  };
  const std::string file = copy.path("config.json");
  EXPECT_THAT(error({{kOld, "torch.nn.modules.activation.Tanh"}}),
              AllOf(HasSubstr(file), HasSubstr(kOld), HasSubstr("Tanh")));
  EXPECT_THAT(error(newer("my_own.Softmax")),
              AllOf(HasSubstr(file), HasSubstr(kNew), HasSubstr("my_own.Softmax")));
  EXPECT_THAT(error({{kNew, {{"activation_fn", 3}}}}), AllOf(HasSubstr(file), HasSubstr(kNew)));
  EXPECT_THAT(error({{kNew, "Sigmoid"}}), AllOf(HasSubstr(file), HasSubstr(kNew)));
  EXPECT_THAT(error({{"problem_type", "ranking"}}), HasSubstr("problem_type: found"));
}

TEST(Similarity, IsTheCosine) {
  const std::vector<float> a = {3, 0, 4}, b = {-6, 0, -8}, c = {0, 2, 0}, zero = {0, 0, 0};
  EXPECT_FLOAT_EQ(similarity(a, a), 1);
  EXPECT_FLOAT_EQ(similarity(a, b), -1);
  EXPECT_FLOAT_EQ(similarity(a, c), 0);
  EXPECT_FLOAT_EQ(similarity(a, std::vector<float>{0, 0, 2e-20f}), 0.8f);
  EXPECT_EQ(similarity(a, zero), 0);
  const std::vector<float> tiny = {1e-30f, 0, 1e-40f};
  EXPECT_FLOAT_EQ(similarity(tiny, tiny), 1);
  EXPECT_FLOAT_EQ(similarity(a, tiny), 0.6f);
  EXPECT_EQ(error_of([&] { similarity(a, std::vector<float>{1}); }),
            "vectors of 3 and 1 numbers, expected the same size");
}

TEST(Similarity, IsWhatTheModelSays) {
  const std::vector<float> a = {3, 0, 4}, b = {-6, 0, -8};
  for (const auto& [name, want] : {std::pair{"cosine", -1.0f},
                                   {"dot", -50.0f},
                                   {"euclidean", -15.0f},
                                   {"manhattan", -21.0f}}) {
    Info info;
    info.similarity = name;
    EXPECT_FLOAT_EQ(similarity(a, b, info), want) << name;
  }
}

TEST(TopK, AreTheGreatestBestFirst) {
  const std::vector<float> scores = {1, NAN, 3, -INFINITY, 3, 2};
  EXPECT_THAT(top_k(scores, 3), testing::ElementsAre(2, 4, 5));
  EXPECT_THAT(top_k(scores, 100), testing::ElementsAre(2, 4, 5, 0, 3, 1));
  EXPECT_THAT(top_k(scores, 0), testing::IsEmpty());
  EXPECT_THAT(top_k({}, 2), testing::IsEmpty());
  EXPECT_EQ(error_of([&] { top_k(scores, -1); }), "k is -1, expected at least 0");
}

TEST(Similarity, DoesNotDependOnTheCallersRoundingMode) {
  std::mt19937 generator(9);
  std::normal_distribution<float> random;
  const auto some = [&](int64_t rows, int64_t columns) {
    Output output(rows, columns);
    for (float& x : output.values) x = random(generator);
    return output;
  };
  const Output query = some(3, 21), document = some(5, 21);
  const SparseVector a{{1, 4, 9}, some(1, 3).values}, b{{1, 4, 9}, some(1, 3).values};
  const auto compare = [&] {
    std::vector<float> found = {max_sim(query, document), dot(a, b)};
    for (const char* measure : {"cosine", "dot", "euclidean", "manhattan"}) {
      Info info;
      info.similarity = measure;
      found.push_back(similarity(query.row(0), document.row(0), info));
    }
    return found;
  };
  const std::vector<float> want = compare();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::vector<float> got = compare();
    std::fesetround(FE_TONEAREST);
    EXPECT_THAT(got, testing::ElementsAreArray(want)) << mode;
  }
}

}  // namespace
}  // namespace bert
