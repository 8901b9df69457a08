// SPDX-License-Identifier: Apache-2.0
//
// The settings that sentence-transformers writes beside a model: pooling, dense modules.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::error_of;
using test::load_error;
using test::same_bits;
using testing::AllOf;
using testing::HasSubstr;

const std::string kTanh = "torch.nn.modules.activation.Tanh";
const std::string kIdentity = "torch.nn.modules.linear.Identity";

json modules(const std::vector<std::string>& kinds) {
  json list = json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string path = i ? std::to_string(i) + "_" + kinds[i] : "";
    list.push_back({{"idx", i},
                    {"name", std::to_string(i)},
                    {"path", path},
                    {"type", "sentence_transformers.models." + kinds[i]}});
  }
  return list;
}

struct DenseModule {
  int64_t in, out;
  std::string function;
  bool biased = true;
  std::vector<float> weight = {}, bias = {};

  // Writes i_Dense/ with random weights.
  void write(const CopiedModel& model, int i) {
    std::mt19937 generator(static_cast<uint32_t>(i + 1));
    std::normal_distribution<float> spread(0, 0.3f);
    weight.resize(in * out);
    bias.resize(biased ? out : 0);
    for (float& value : weight) value = spread(generator);
    for (float& value : bias) value = spread(generator);
    const std::string folder = std::to_string(i) + "_Dense/";
    model.write_json(folder + "config.json", {{"in_features", in},
                                              {"out_features", out},
                                              {"bias", biased},
                                              {"activation_function", function}});
    std::vector<CopiedModel::F32> tensors = {{"linear.weight", {out, in}, weight}};
    if (biased) tensors.push_back({"linear.bias", {out}, bias});
    model.write_tensors(folder + "model.safetensors", tensors);
  }

  std::vector<double> run(const std::vector<double>& x) const {
    std::vector<double> y(out);
    for (int64_t i = 0; i < out; ++i) {
      if (biased) y[i] = bias[i];
      for (int64_t j = 0; j < in; ++j) y[i] += weight[i * in + j] * x[j];
      if (function == kTanh) y[i] = std::tanh(y[i]);
    }
    return y;
  }
};

std::vector<double> pooled(const Output& states, const std::string& how) {
  std::vector<double> y(states.row(0).begin(), states.row(0).end());
  for (int64_t t = 1; t < states.rows && how != "st-cls"; ++t) {
    for (int64_t j = 0; j < states.columns; ++j) {
      const double value = states.row(t)[j];
      y[j] = how == "st-max" ? std::max(y[j], value) : y[j] + value;
    }
  }
  if (how == "st-mean") {
    for (double& value : y) value /= static_cast<double>(states.rows);
  }
  return y;
}

const std::vector<Input> kTexts = {
    {"a man plays the guitar"},
    {"two dogs"},
    {"", "the beach"},
    {"the girl is walking on the beach and a boy is eating", "music"}};

// Compares with the hidden states pooled in double, each dense module, then normalisation.
void check_embeddings(const Model& model, const std::string& pooling,
                      const std::vector<DenseModule>& dense, bool normalised) {
  const Output got = model.embed(kTexts);
  const std::vector<Hidden> hidden = model.hidden(kTexts);
  ASSERT_EQ(got.columns, dense.back().out);
  EXPECT_EQ(model.info().embedding, dense.back().out);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    std::vector<double> want = pooled(hidden[i].states, pooling);
    for (const DenseModule& module : dense) want = module.run(want);
    double squares = 0;
    for (const double value : want) squares += value * value;
    for (size_t j = 0; j < want.size(); ++j) {
      const double expected = normalised ? want[j] / std::sqrt(squares) : want[j];
      ASSERT_NEAR(got.row(i)[j], expected, 1e-5) << i << ", " << j;
    }
    EXPECT_TRUE(same_bits(model.embed({&kTexts[i], 1}).values, got.row(i))) << "alone";
  }
}

TEST(DenseModules, AreRunAfterPoolingInTheirOrder) {
  struct Case {
    const char* model;
    std::vector<DenseModule> dense;
    bool normalised;
    const char* description;
  };
  const Case cases[] = {{"st-mean", {{48, 20, kTanh}}, true, "mean, dense to 20, normalised"},
                        {"st-cls", {{48, 60, kIdentity, false}}, false, "cls, dense to 60"},
                        {"st-max",
                         {{48, 20, kTanh, false}, {20, 31, kIdentity}},
                         true,
                         "max, dense to 20, dense to 31, normalised"},
                        {"st-mean",
                         {{48, 7, kIdentity}, {7, 50, kTanh}, {50, 9, kTanh}},
                         false,
                         "mean, dense to 7, dense to 50, dense to 9"}};
  for (Case one : cases) {
    SCOPED_TRACE(one.description);
    const CopiedModel copy(one.model);
    std::vector<std::string> kinds = {"Transformer", "Pooling"};
    for (DenseModule& dense : one.dense) {
      dense.write(copy, static_cast<int>(kinds.size()));
      kinds.push_back("Dense");
    }
    if (one.normalised) kinds.push_back("Normalize");
    copy.write_json("modules.json", modules(kinds));
    Options options;
    options.threads = 2;
    const Model model = Model::load(copy.path()), two = Model::load(copy.path(), options);
    EXPECT_EQ(model.info().pooling, one.description);
    check_embeddings(model, one.model, one.dense, one.normalised);
    EXPECT_TRUE(same_bits(two.embed(kTexts).values, model.embed(kTexts).values));
  }
}

TEST(DenseModules, AreReadFromPyTorchFilesToo) {
  DenseModule dense{48, 20, kTanh};
  const models::WeightFile file = models::read_safetensors(test::golden("dense/model.safetensors"));
  for (const auto& [name, values] :
       {std::pair{"linear.weight", &dense.weight}, {"linear.bias", &dense.bias}}) {
    const models::StoredTensor* tensor = file.find(name);
    for (int64_t i = 0; i < tensor->elements(); ++i) {
      values->push_back(static_cast<float>(tensor->at(i)));
    }
  }
  const CopiedModel copy("st-mean");
  // activation_function defaults to Tanh, as in sentence-transformers.
  copy.write_json("2_Dense/config.json", {{"in_features", 48}, {"out_features", 20}});
  std::filesystem::copy(test::golden("dense/pytorch_model.bin"), copy.path("2_Dense"));
  copy.write_json("modules.json", modules({"Transformer", "Pooling", "Dense"}));
  check_embeddings(Model::load(copy.path()), "st-mean", {dense}, false);
}

TEST(DenseModules, ThatDoNotFitAreRefusedByFileAndField) {
  const CopiedModel copy("st-mean");
  DenseModule{48, 20, kTanh}.write(copy, 2);
  copy.write_json("modules.json", modules({"Transformer", "Pooling", "Dense"}));
  const auto error = [&](const json& changes) {
    const std::string before = copy.read("2_Dense/config.json");
    copy.change("2_Dense/config.json", changes);
    const std::string text = error_of([&] { Model::load(copy.path()); });
    copy.write("2_Dense/config.json", before);
    return text;
  };
  const std::string config = copy.path("2_Dense/config.json");
  const std::string weights = copy.path("2_Dense/model.safetensors");
  EXPECT_EQ(error(json::object()), "no error");
  EXPECT_THAT(error({{"in_features", 47}}),
              AllOf(HasSubstr(config), HasSubstr("in_features: found 47")));
  EXPECT_THAT(error({{"out_features", 0}}),
              AllOf(HasSubstr(config), HasSubstr("out_features: found 0")));
  EXPECT_THAT(error({{"out_features", nullptr}}), HasSubstr("\"out_features\" is missing"));
  EXPECT_THAT(error({{"out_features", 21}}), AllOf(HasSubstr(weights), HasSubstr("'linear.weight'"),
                                                   HasSubstr("[20, 48]"), HasSubstr("[21, 48]")));
  EXPECT_THAT(error({{"activation_function", "torch.nn.modules.activation.Mish"}}),
              AllOf(HasSubstr(config), HasSubstr("activation_function: found"), HasSubstr("Mish")));
  EXPECT_THAT(error({{"bias", "no"}}), AllOf(HasSubstr(config), HasSubstr("bias: found \"no\"")));
  EXPECT_THAT(error({{"use_residual", true}}), HasSubstr("tensor 'residual.weight' is missing"));
  EXPECT_THAT(error({{"module_input_name", "token_embeddings"}}),
              HasSubstr("module_input_name: found"));
  EXPECT_THAT(error({{"module_output_name", "scores"}}), HasSubstr("module_output_name: found"));
  EXPECT_EQ(error({{"module_output_name", "sentence_embedding"}}), "no error");
  EXPECT_THAT(error({{"bias", false}}), AllOf(HasSubstr(weights), HasSubstr("'linear.bias'")));

  std::string integers = copy.read("2_Dense/model.safetensors");
  integers.replace(integers.find("F32"), 3, "I32");
  copy.write("2_Dense/model.safetensors", integers);
  EXPECT_THAT(error(json::object()), HasSubstr("is I32, expected F32, F16 or BF16"));
  DenseModule{48, 20, kTanh, false}.write(copy, 2);
  EXPECT_THAT(error({{"bias", true}}),
              AllOf(HasSubstr(weights), HasSubstr("'linear.bias' is missing")));
  std::filesystem::remove(weights);
  EXPECT_THAT(error(json::object()), HasSubstr(copy.path("2_Dense")));
  std::filesystem::remove(config);
  EXPECT_THAT(error_of([&] { Model::load(copy.path()); }), HasSubstr(config));
}

TEST(Modules, InAnotherOrderAreRefused) {
  using Kinds = std::vector<std::string>;
  const CopiedModel copy("st-mean");
  const auto error = [&](const Kinds& kinds) {
    json list = modules(kinds);
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == "Pooling") list[i]["path"] = "1_Pooling";
      if (kinds[i] == "Dense") DenseModule{48, 48, kTanh}.write(copy, static_cast<int>(i));
    }
    copy.write_json("modules.json", list);
    return error_of([&] { Model::load(copy.path()); });
  };
  const std::string file = copy.path("modules.json");
  EXPECT_EQ(error({"Transformer", "Pooling", "Dense", "Normalize"}), "no error");
  const std::pair<Kinds, int> cases[] = {{{"Transformer", "Dense", "Pooling"}, 1},
                                         {{"Transformer", "Pooling", "Normalize", "Dense"}, 3},
                                         {{"Transformer", "Pooling", "Normalize", "Normalize"}, 3},
                                         {{"Transformer", "Pooling", "Pooling"}, 2},
                                         {{"Transformer", "Pooling", "Transformer"}, 2},
                                         {{"Pooling", "Transformer"}, 0},
                                         {{"Transformer", "Normalize"}, 1},
                                         {{"Transformer", "Pooling", "LayerNorm"}, 2}};
  for (const auto& [kinds, at] : cases) {
    EXPECT_THAT(error(kinds), AllOf(HasSubstr(file), HasSubstr("module " + std::to_string(at)),
                                    HasSubstr(kinds[at])));
  }
  EXPECT_THAT(error({"Transformer"}), AllOf(HasSubstr(file), HasSubstr("expected Pooling")));
  EXPECT_THAT(error({}), AllOf(HasSubstr(file), HasSubstr("expected Pooling")));
  json list = modules({"Transformer", "Pooling"});
  list[0]["path"] = "0_Transformer";
  copy.write_json("modules.json", list);
  EXPECT_THAT(load_error(copy), HasSubstr("/0_Transformer/"));
  list[0]["path"] = "";
  for (const char* outside : {"../1_Pooling", "/tmp/1_Pooling", "1_Pooling/../../x"}) {
    list[1]["path"] = outside;
    copy.write_json("modules.json", list);
    EXPECT_THAT(load_error(copy), HasSubstr("expected a folder in the model's directory"))
        << outside;
  }
  list[1]["path"] = "1_Pooling";
  list[1]["type"] = "my_pooling.Pooling";
  copy.write_json("modules.json", list);
  EXPECT_THAT(load_error(copy), AllOf(HasSubstr(file), HasSubstr("'my_pooling.Pooling'")));
}

TEST(Modules, MayTruncateTheEmbedding) {
  const CopiedModel copy("st-mean");
  DenseModule{48, 20, kTanh}.write(copy, 2);
  copy.write_json("modules.json", modules({"Transformer", "Pooling", "Dense", "Normalize"}));
  const Output whole = Model::load(copy.path()).embed(kTexts);
  for (const int width : {1, 7, 20, 1000}) {
    copy.write_json("config_sentence_transformers.json", {{"truncate_dim", width}});
    const Model model = Model::load(copy.path());
    const Output cut = model.embed(kTexts);
    ASSERT_EQ(cut.columns, std::min(width, 20));
    EXPECT_EQ(model.info().embedding, cut.columns);
    for (int64_t i = 0; i < cut.rows; ++i) {
      const auto first = whole.row(i).first(static_cast<size_t>(cut.columns));
      EXPECT_TRUE(same_bits(cut.row(i), first)) << width << ", " << i;
    }
  }
  copy.write_json("config_sentence_transformers.json", {{"truncate_dim", 0}});
  EXPECT_THAT(load_error(copy), HasSubstr("truncate_dim: found 0"));
}

TEST(Modules, MayPoolInSeveralWaysAtOnce) {
  const CopiedModel copy("st-mean");
  copy.write_json("modules.json", modules({"Transformer", "Pooling"}));
  copy.write_json("1_Pooling/config.json", {{"pooling_mode", {"mean", "cls"}}});
  const Output both = Model::load(copy.path()).embed(kTexts);
  EXPECT_EQ(both.columns, 96);
  copy.write_json("config_sentence_transformers.json", {{"truncate_dim", 60}});
  const Output cut = Model::load(copy.path()).embed(kTexts);
  EXPECT_TRUE(same_bits(cut.row(1), both.row(1).first(60)));
}

TEST(Modules, OfATransformerWithOtherSettingsAreRefused) {
  const CopiedModel copy("st-mean");
  const auto error = [&](const json& settings) {
    copy.write_json("sentence_bert_config.json", settings);
    return load_error(copy);
  };
  const auto modality = [](const json& output) -> json {
    return {
        {"modality_config", {{"text", {{"method", "forward"}, {"method_output_name", output}}}}}};
  };
  EXPECT_EQ(
      error({{"transformer_task", "feature-extraction"}, {"processing_kwargs", json::object()}}),
      "no error");
  EXPECT_EQ(error(modality("last_hidden_state")), "no error");
  EXPECT_THAT(error(modality({"hidden_states", -2})), HasSubstr("modality_config: found"));
  EXPECT_THAT(error({{"transformer_task", "text-generation"}}),
              HasSubstr("transformer_task: found"));
  EXPECT_THAT(error({{"processing_kwargs", {{"text", {{"max_length", 4}}}}}}),
              HasSubstr("processing_kwargs: found"));
  EXPECT_THAT(error({{"query_expansion", {{"length", 4}}}}), HasSubstr("query_expansion: found"));
}

TEST(Pooling, DefaultsAreThoseOfSentenceTransformers) {
  const CopiedModel copy("st-mean");
  const auto pooling = [&](json config) {
    config["word_embedding_dimension"] = 48;
    copy.write_json("1_Pooling/config.json", config);
    std::string found;
    const std::string error = error_of([&] { found = Model::load(copy.path()).info().pooling; });
    return found.empty() ? error : found;
  };
  EXPECT_THAT(pooling({}), HasSubstr("mean"));
  EXPECT_THAT(pooling({{"embedding_dimension", 48}}), HasSubstr("mean"));
  EXPECT_THAT(pooling({{"embedding_dimension", 47}}),
              HasSubstr("embedding_dimension: found 47, expected 48"));
  EXPECT_THAT(pooling({{"pooling_mode", "cls"}, {"pooling_mode_mean_tokens", true}}),
              HasSubstr("cls"));
  EXPECT_THAT(pooling({{"pooling_mode", "max"}}), HasSubstr("max"));
  EXPECT_THAT(pooling({{"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", false}}),
              HasSubstr("cls"));
  EXPECT_THAT(pooling({{"pooling_mode_cls_token", false}, {"pooling_mode_mean_tokens", false}}),
              HasSubstr("pooling_mode_mean_tokens: found false, expected true"));
  // Whether the mean is meant too depends on sentence-transformers' version.
  EXPECT_THAT(pooling({{"pooling_mode_cls_token", true}}), HasSubstr("pooling_mode_mean_tokens"));
  EXPECT_THAT(pooling({{"pooling_mode_mean_sqrt_len_tokens", true},
                       {"pooling_mode_mean_tokens", true},
                       {"pooling_mode_cls_token", true}}),
              HasSubstr("cls and mean and mean over square root of length"));
  EXPECT_THAT(pooling({{"pooling_mode_other", true}}), HasSubstr("pooling_mode_other: found"));
  EXPECT_THAT(pooling({{"pooling_mode", {"max"}}}), HasSubstr("max"));
  EXPECT_THAT(pooling({{"pooling_mode", "lasttoken"}}), HasSubstr("last"));
  EXPECT_THAT(pooling({{"pooling_mode", {"weightedmean", "cls"}}}),
              HasSubstr("weighted mean and cls"));
  for (const json& mode : {json("first"), json({"cls", "middle"}), json(3), json::array()}) {
    EXPECT_THAT(pooling({{"pooling_mode", mode}}), HasSubstr("pooling_mode: found"));
  }
}

// Qwen3's classifier reads the last token that is not padding, and no token attends to later ones.
TEST(Pooling, ForAClassifierOfTheLastTokenPassesOverPadding) {
  const Model model = test::load_golden("qwen3-classification");
  const auto logits = [&](const std::vector<int32_t>& ids) {
    return model.run(std::vector{Encoding{ids, std::vector<int32_t>(ids.size()), {}, false}});
  };
  const Output want = logits({5, 0, 7}), alone = logits({0}), other = logits({5, 0, 7, 1});
  const Output got = logits({5, 0, 7, 0, 0}), all = logits({0, 0, 0});
  for (size_t i = 0; i < want.values.size(); ++i) {
    EXPECT_NEAR(got.values[i], want.values[i], 1e-5);
    EXPECT_NEAR(all.values[i], alone.values[i], 1e-5);
    EXPECT_GT(std::fabs(other.values[i] - want.values[i]), 1e-3);
  }
}

// Each pooling's numbers, beside those of the hidden states in double.
TEST(Pooling, OfEachKindIsWhatItsNameSays) {
  const CopiedModel copy("st-mean");
  auto list = json::parse(copy.read("modules.json"));
  while (list.size() > 2) list.erase(2);  // without a normalisation
  copy.write_json("modules.json", list);
  copy.change("1_Pooling/config.json",
              {{"pooling_mode",
                {"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}}});
  const Model model = Model::load(copy.path());
  const Output got = model.embed(kTexts);
  ASSERT_EQ(got.columns, 6 * 48);
  const std::vector<Hidden> hidden = model.hidden(kTexts);
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const Output& states = hidden[i].states;
    const auto rows = static_cast<double>(states.rows);
    for (int64_t j = 0; j < 48; ++j) {
      double most = -INFINITY, sum = 0, rising = 0;
      for (int64_t t = 0; t < states.rows; ++t) {
        const double value = states.row(t)[j];
        most = std::max(most, value);
        sum += value;
        rising += static_cast<double>(t + 1) * value;
      }
      const double want[] = {states.row(0)[j],
                             most,
                             sum / rows,
                             sum / std::sqrt(rows),
                             2 * rising / (rows * (rows + 1)),
                             states.row(states.rows - 1)[j]};
      for (int64_t k = 0; k < 6; ++k) {
        ASSERT_NEAR(got.row(i)[48 * k + j], want[k], 1e-5) << "text " << i << ", pooling " << k;
      }
    }
  }
}

}  // namespace
}  // namespace bert
