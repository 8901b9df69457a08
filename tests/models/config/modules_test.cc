// SPDX-License-Identifier: Apache-2.0
//
// Where modules.json says that the parts of a model are.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::load_error;
using testing::HasSubstr;

TEST(Modules, MayNameTheTransformersFolder) {
  const CopiedModel copy("st-mean");
  const std::vector<Input> inputs = {{"a man plays the guitar"}, {"two dogs", "the beach"}};
  const Output want = Model::load(copy.path()).embed(inputs);
  const Encoding encoding = Tokenizer::load(copy.path()).encode(inputs[0]);
  for (const char* file :
       {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"}) {
    copy.write(std::string("0_Transformer/") + file, copy.read(file));
    std::filesystem::remove(copy.path(file));
  }
  auto modules = json::parse(copy.read("modules.json"));
  modules[0]["path"] = "0_Transformer";
  copy.write_json("modules.json", modules);
  EXPECT_TRUE(test::same_bits(Model::load(copy.path()).embed(inputs).values, want.values));
  EXPECT_EQ(Tokenizer::load(copy.path()).encode(inputs[0]).ids, encoding.ids);
  modules[0]["path"] = "../0_Transformer";
  copy.write_json("modules.json", modules);
  EXPECT_THAT(load_error(copy), HasSubstr("expected a folder in the model's directory"));
}

TEST(Modules, OfARouterAreThoseForDocuments) {
  const CopiedModel copy("splade");
  const std::string type = "sentence_transformers.sparse_encoder.models.";
  copy.write_json("modules.json",
                  {{{"path", ""}, {"type", "sentence_transformers.models.Router"}}});
  const json routes = {{"types",
                        {{"", type + "MLMTransformer"},
                         {"1_SpladePooling", type + "SpladePooling"},
                         {"q", type + "SparseStaticEmbedding"}}},
                       {"structure", {{"query", {"q"}}, {"document", {"", "1_SpladePooling"}}}},
                       {"parameters", {{"default_route", "document"}}}};
  const auto error = [&](const json& changes) {
    json changed = routes;
    changed.merge_patch(changes);
    copy.write_json("router_config.json", changed);
    return load_error(copy);
  };
  EXPECT_THAT(error(json::object()), HasSubstr("q/config.json"));
  EXPECT_THAT(error({{"parameters", {{"default_route", "query"}}}}),
              HasSubstr("default_route: found"));
  EXPECT_THAT(error({{"structure", {{"image", {"q"}}}}}),
              HasSubstr("expected the routes query and document"));
  EXPECT_THAT(error({{"structure", {{"query", {""}}}}}),
              HasSubstr("expected SparseStaticEmbedding alone"));
  EXPECT_THAT(error({{"structure", {{"document", {""}}}}}),
              HasSubstr("missing, expected SpladePooling"));
  EXPECT_THAT(error({{"structure", {{"document", {"", "../x"}}}}}),
              HasSubstr("in the model's directory"));
  EXPECT_THAT(error({{"types", {{"q", nullptr}}}}), HasSubstr("\"q\" is missing"));
}

// Each of a query's tokens once, without special ones, after the prompt for queries.
TEST(Modules, OfARouterHaveATableForQueries) {
  const CopiedModel copy("splade");
  const Model documents = Model::load(copy.path());
  const std::string type = "sentence_transformers.sparse_encoder.models.";
  copy.write_json("modules.json",
                  {{{"path", ""}, {"type", "sentence_transformers.models.Router"}}});
  copy.write_json("router_config.json",
                  {{"types",
                    {{"", type + "MLMTransformer"},
                     {"1_SpladePooling", type + "SpladePooling"},
                     {"q", type + "SparseStaticEmbedding"}}},
                   {"structure", {{"query", {"q"}}, {"document", {"", "1_SpladePooling"}}}},
                   {"parameters", {{"default_route", "document"}}}});
  copy.write_json("config_sentence_transformers.json", {{"prompts", {{"query", "two "}}}});
  copy.write("q/config.json", "{}");
  for (const char* file : {"vocab.txt", "tokenizer_config.json"}) {
    copy.write(std::string("q/") + file, copy.read(file));
  }
  std::vector<float> weights(static_cast<size_t>(documents.info().vocabulary));
  for (size_t id = 0; id < weights.size(); ++id) weights[id] = 0.5f + static_cast<float>(id % 7);
  const CopiedModel::F32 table{"weight", {std::ssize(weights)}, weights};
  copy.write_tensors("q/model.safetensors", {&table, 1});
  const Model model = Model::load(copy.path());
  const std::vector<std::string> texts = {"two dogs on the beach", "a man"};
  const std::vector<Input> inputs = {{texts[0]}, {texts[1]}}, query = {{"two dogs the dogs"}};
  const std::vector<SparseVector> vectors = documents.sparse(inputs);
  const Encoding tokens = documents.tokenize(query)[0];
  SparseVector wanted;
  for (const int32_t id : std::set(tokens.ids.begin() + 1, tokens.ids.end() - 1)) {
    wanted.ids.push_back(id);
    wanted.weights.push_back(weights[static_cast<size_t>(id)]);
  }
  const std::vector<Relevance> found = relevance(model, "dogs the dogs", texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NEAR(found[i].score, dot(wanted, vectors[i]), 1e-5);
  }
  EXPECT_GT(found[0].score, 0);
}

}  // namespace
}  // namespace bert
