// SPDX-License-Identifier: Apache-2.0
//
// CLIP, whose embedding is the state of the end of a text.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::load_error;
using test::same_bits;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Encoding> encodings(const std::vector<std::vector<int32_t>>& inputs) {
  std::vector<Encoding> all;
  for (const auto& ids : inputs)
    all.push_back({.ids = ids, .type_ids = std::vector(ids.size(), 0)});
  return all;
}

const std::vector<Encoding> kInputs = encodings({{7, 199, 9, 11, 62, 4, 62}, {62}, {5, 62, 3}});

Output embed(const CopiedModel& copy) { return Model::load(copy.path()).embed(kInputs); }

// That each embedding is that row of the hidden state.
void expect_rows(const CopiedModel& copy, const std::vector<int64_t>& rows,
                 const std::vector<Encoding>& inputs) {
  const Model model = Model::load(copy.path());
  const Output embeddings = model.embed(inputs);
  const std::vector<Hidden> hidden = model.hidden(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto row = hidden[i].states.row(rows[i]);
    EXPECT_TRUE(same_bits(embeddings.row(i), {row.data(), row.size()})) << i;
  }
}

TEST(TextEnd, IsTheFirstOfItsToken) {
  const CopiedModel copy("clip-text");
  ASSERT_EQ(json::parse(copy.read("config.json")).at("eos_token_id"), 62);
  expect_rows(copy, {4, 0, 1}, kInputs);
  expect_rows(copy, {0, 2}, encodings({{7, 9}, {7, 9, 62}}));
  copy.change("config.json", {{"eos_token_id", 2}});  // which older files have for all vocabularies
  expect_rows(copy, {1, 0, 1}, kInputs);
  EXPECT_THAT(Model::load(copy.path()).info().pooling, "end of text");
}

TEST(TextEnd, OfMetaClip2HasTheIdTwo) {
  const CopiedModel copy("clip-text");
  copy.change("config.json", {{"architectures", {"MetaClip2TextModel"}},
                              {"model_type", "metaclip_2_text_model"},
                              {"eos_token_id", 2}});
  expect_rows(copy, {0, 2}, encodings({{7, 199, 9}, {7, 62, 2, 9, 2}}));
}

TEST(TextEnd, OfChineseClipIsTheFirstToken) {
  const CopiedModel copy("chinese-clip");
  const Model model = Model::load(copy.path());
  EXPECT_THAT(model.info().pooling, "cls, dense to 20");
  EXPECT_EQ(embed(copy).columns, 20);
  EXPECT_THAT(model.info().notes, ElementsAre(HasSubstr("4 tensors of other heads or parts")));
  copy.change("config.json", {{"projection_dim", 21}});
  EXPECT_THAT(load_error(copy),
              HasSubstr("'text_projection.weight' has shape [20, 39], expected [21, 39]"));
}

TEST(TextEnd, OfAPairIsTheFirstTextsAlone) {
  const Model model = Model::load(CopiedModel("clip").path());
  const Output both = model.embed(encodings({{7, 9, 62, 62, 5, 11, 62}, {7, 9, 62}}));
  for (int64_t j = 0; j < both.columns; ++j) EXPECT_NEAR(both.row(0)[j], both.row(1)[j], 1e-6);
}

TEST(TextEnd, SettingsMayBeInEitherOfTwoFieldsOrLeftOut) {
  const CopiedModel copy("clip");
  const Output want = embed(copy);
  EXPECT_EQ(want.columns, 25);
  EXPECT_THAT(Model::load(copy.path()).info().notes,
              ElementsAre(HasSubstr("4 tensors of other heads or parts")));  // for images
  const json config = json::parse(copy.read("config.json"));
  json other = config;
  other["text_config_dict"] = config["text_config"];
  other["text_config"]["hidden_size"] = 7;
  copy.write_json("config.json", other);
  EXPECT_TRUE(same_bits(embed(copy).values, want.values));
  other["text_config_dict"]["hidden_size"] = 0;
  copy.write_json("config.json", other);
  EXPECT_THAT(load_error(copy), HasSubstr("text_config_dict.hidden_size: found 0"));
  const auto error = [&](const json& change) {
    copy.write_json("config.json", config);
    copy.change("config.json", change);
    return load_error(copy);
  };
  EXPECT_THAT(error({{"text_config", {{"intermediate_size", nullptr}}}}),
              HasSubstr("expected [2048, 48]"));
  EXPECT_THAT(error({{"text_config", {{"eos_token_id", 200}}}}),
              HasSubstr("text_config.eos_token_id: found 200"));
  EXPECT_THAT(error({{"projection_dim", 24}}),
              HasSubstr("'text_projection.weight' has shape [25, 48], expected [24, 48]"));
  EXPECT_THAT(error({{"projection_dim", nullptr}}), HasSubstr("expected [512, 48]"));
}

json modules_by_type(const std::vector<std::string>& types) {
  json list = json::array();
  for (const std::string& type : types) {
    list.push_back({{"path", ""}, {"type", "sentence_transformers.models." + type}});
  }
  return list;
}

TEST(TextEnd, ModulesOfSentenceTransformersLeaveItToTheModel) {
  const CopiedModel copy("clip");
  const Output want = embed(copy);
  copy.write_json("modules.json", modules_by_type({"Transformer"}));
  const json method = {{"method", "get_text_features"}, {"method_output_name", "pooler_output"}};
  copy.write_json("sentence_bert_config.json", {{"modality_config", {{"text", method}}}});
  EXPECT_TRUE(same_bits(embed(copy).values, want.values));
  copy.write_json("modules.json", modules_by_type({"CLIPModel", "Normalize"}));
  const Output normalised = embed(copy);
  for (int64_t i = 0; i < want.rows; ++i) {
    double squares = 0;
    for (const float value : want.row(i)) squares += static_cast<double>(value) * value;
    for (int64_t j = 0; j < want.columns; ++j) {
      ASSERT_NEAR(normalised.row(i)[j], want.row(i)[j] / std::sqrt(squares), 1e-7) << i;
    }
  }
  json in_folder = modules_by_type({"CLIPModel"});
  in_folder[0]["path"] = "0_CLIPModel";
  for (const char* file : {"config.json", "model.safetensors"}) {
    copy.write(std::string("0_CLIPModel/") + file, copy.read(file));
    std::filesystem::remove(copy.path(file));
  }
  copy.write_json("modules.json", in_folder);
  EXPECT_TRUE(same_bits(embed(copy).values, want.values));
}

TEST(TextEnd, ModulesOfOtherModelsAreNotClips) {
  const CopiedModel copy("encoder");
  copy.write_json("modules.json", modules_by_type({"CLIPModel"}));
  EXPECT_THAT(load_error(copy), HasSubstr("'type' is 'sentence_transformers.models.CLIPModel'"));
  copy.write_json("modules.json", modules_by_type({"Transformer"}));
  EXPECT_THAT(load_error(copy), HasSubstr("missing, expected Pooling"));
}

}  // namespace
}  // namespace bert
