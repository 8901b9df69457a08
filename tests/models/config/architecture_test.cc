// SPDX-License-Identifier: Apache-2.0
//
// Directories whose config.json and weights disagree about the heads.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::error_of;
using test::load_golden;
using test::same_bits;
using testing::Contains;
using testing::HasSubstr;

const std::vector<Input> kTwoInputs = {{"a man plays the guitar"}, {"two dogs", "the beach"}};

// Expects the golden model's last hidden states, and no head.
void expect_encoder_of(const std::string& golden, const Model& model) {
  const std::vector<Hidden> got = model.hidden(kTwoInputs),
                            want = load_golden(golden).hidden(kTwoInputs);
  for (size_t i = 0; i < kTwoInputs.size(); ++i) {
    EXPECT_TRUE(same_bits(got[i].states.values, want[i].states.values)) << golden;
  }
  EXPECT_EQ(model.info().task, Task::embed) << golden;
}

TEST(Architecture, EncoderMayHaveUnusedPreTrainingHeads) {
  const std::pair<const char*, const char*> cases[] = {
      {"bert-mlm", "BertModel"},          {"pretraining", "BertModel"},
      {"next-sentence", "BertModel"},     {"distilbert-mlm", "DistilBertModel"},
      {"electra-mlm", "ElectraModel"},    {"electra-pretraining", "ElectraModel"},
      {"albert-mlm", "AlbertModel"},      {"albert-pretraining", "AlbertModel"},
      {"mpnet-mlm", "MPNetModel"},        {"xlm-roberta-mlm", "XLMRobertaModel"},
      {"camembert-mlm", "CamembertModel"}};
  for (const auto& [golden, architecture] : cases) {
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", {architecture}}});
    const Model model = Model::load(copy.path());
    expect_encoder_of(golden, model);
    EXPECT_THAT(model.info().notes,
                Contains(HasSubstr(std::string("head that ") + architecture + " does not have")));
  }
  for (const char* golden :
       {"plain", "bert-qa", "bert-tokens"}) {  // heads that must not be ignored
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", {"BertModel"}}});
    EXPECT_THAT(error_of([&] { Model::load(copy.path()); }), HasSubstr("unexpected tensor"));
  }
}

TEST(Architecture, PreTrainingMayLackItsHeads) {
  for (const char* architecture : {"BertForPreTraining", "BertForMaskedLM"}) {
    const CopiedModel copy("encoder");
    copy.change("config.json", {{"architectures", {architecture}}});
    const Model model = Model::load(copy.path());
    expect_encoder_of("encoder", model);
    EXPECT_THAT(model.info().notes, Contains(HasSubstr("has no tensors of its head")));
  }
  for (const auto& [golden, missing] : {std::pair{"bert-mlm", "bert.pooler.dense.weight"},
                                        {"next-sentence", "cls.predictions.transform"}}) {
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", {"BertForPreTraining"}}});
    EXPECT_THAT(error_of([&] { Model::load(copy.path()); }),
                HasSubstr(std::string("tensor '") + missing));
  }
}

TEST(Architecture, IsInferredFromTheWeightsIfNoneIsNamed) {
  for (const char* golden :
       {"encoder", "distilbert", "electra", "albert", "xlm-roberta", "camembert", "mpnet"}) {
    const CopiedModel copy(golden);
    for (const json& named : {json(nullptr), json::array()}) {
      copy.change("config.json", {{"architectures", named}});
      const Model model = Model::load(copy.path());
      expect_encoder_of(golden, model);
      EXPECT_EQ(model.info().architecture, load_golden(golden).info().architecture);
      EXPECT_THAT(model.info().notes, Contains(HasSubstr("names no architecture")));
    }
  }
  for (const char* golden : {"distilbert-classification", "electra-tokens", "mpnet-mlm"}) {
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", nullptr}});
    EXPECT_THAT(error_of([&] { Model::load(copy.path()); }),
                HasSubstr("config.json: \"architectures\" is missing, expected one of"));
  }
}

}  // namespace
}  // namespace bert
