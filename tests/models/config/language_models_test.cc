// SPDX-License-Identifier: Apache-2.0
//
// The settings of language models that embedding models and rerankers are made of.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/config/config.h"
#include "models/config/sentence_settings.h"
#include "tests/models/copied_model.h"

namespace bert::language_models {
namespace {

using nlohmann::json;

std::string error_with(const char* golden, const json& changes) {
  const test::CopiedModel copy(golden);
  copy.change("config.json", changes);
  return test::load_error(copy);
}

models::Config config_with(const char* golden, const json& changes) {
  const test::CopiedModel copy(golden);
  if (!changes.is_null()) copy.change("config.json", changes);
  return models::read_config(copy.path(), "");
}

// Sets fields also to null.
struct Edited : test::CopiedModel {
  Edited(const char* golden, const json& fields) : CopiedModel(golden) {
    json config = json::parse(read("config.json"));
    config.update(fields);
    write_json("config.json", config);
  }
  models::Config config() const { return models::read_config(path(), ""); }
  std::string error() const { return test::load_error(*this); }
};

TEST(LanguageModels, MistralsClassHasItsOwnNumberOfKeyHeads) {
  const json more = {{"hidden_size", 128}, {"num_attention_heads", 32}, {"head_dim", nullptr}};
  json unsaid = more;
  unsaid["num_key_value_heads"] = nullptr;  // which config_with() removes, and Edited sets
  EXPECT_EQ(config_with("mistral-classification", unsaid).key_heads, 8);
  EXPECT_EQ(Edited("mistral-classification", unsaid).config().key_heads, 32);
}

TEST(LanguageModels, SettingsThatWouldChangeThemAreRefused) {
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"architectures", {"Qwen3ForQuestionAnswering"}}},
            "expected one of Qwen3ForCausalLM, Qwen3ForSequenceClassification"},
           {{{"auto_map", {{"AutoModel", "modeling_qwen.Qwen2Model"}}}},
            "\"is_causal\" is missing"},
           {{{"use_sliding_window", true}, {"sliding_window", 1}},
            "found 1, expected an integer from 2"},
           {{{"layer_types", {"full_attention", "sliding_attention", "full_attention"}}},
            "expected full_attention for all layers"},
           {{{"rope_scaling", {{"type", "ntk"}, {"factor", 4.0}}}},
            "found \"ntk\", expected \"default\", \"linear\", \"llama3\" or \"yarn\""},
           {{{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}},
            "\"original_max_position_embeddings\" is missing"},
           {{{"head_dim", nullptr}}, "\"head_dim\" is missing"},
           {{{"head_dim", 12}}, "has shape [80, 48], expected [48, 48]"},
           {{{"transformers_weights", "other.safetensors"}},
            "found \"other.safetensors\", expected \"model.safetensors\""},
           {{{"token_classification_bias", false}}, "found false, expected true"},
           {{{"num_key_value_heads", 3}},
            "found 3, expected a divisor of 'num_attention_heads'"}}) {
    EXPECT_THAT(error_with("qwen3", changes), testing::HasSubstr(error)) << changes;
  }
  const auto scaling = [](const char* field, const nlohmann::json& value) {
    return error_with("llama", {{"rope_scaling", {{field, value}}}});
  };
  EXPECT_THAT(scaling("factor", 0),
              testing::HasSubstr("factor: found 0, expected a positive number"));
  EXPECT_THAT(scaling("rope_theta", -1),
              testing::HasSubstr("rope_theta: found -1, expected a positive"));
  EXPECT_THAT(scaling("high_freq_factor", 1),
              testing::HasSubstr("high_freq_factor: found 1, expected more than low_freq_factor"));
  EXPECT_THAT(scaling("factor", nullptr), testing::HasSubstr("\"factor\" is missing"));
  EXPECT_THAT(scaling("rope_type", "ntk"), testing::HasSubstr("\"llama3\" or \"yarn\""));
  EXPECT_THAT(error_with("llama", {{"rope_parameters", {{"rope_theta", 500.0}}}}),
              testing::HasSubstr("rope_scaling: found an object, expected null"));
  EXPECT_THAT(error_with("mistral-classification", {{"sliding_window", 0}}),
              testing::HasSubstr("found 0, expected an integer"));
}

TEST(LanguageModels, WindowsEndWithTheTokenOrReachToBothSides) {
  const auto windows = [](const char* golden, const json& changes) {
    return config_with(golden, changes).windows;
  };
  EXPECT_EQ(windows("mistral-window", {}), std::vector(3, 39));
  EXPECT_EQ(windows("mistral-window", {{"is_causal", false}}), std::vector(3, 40));
  EXPECT_EQ(windows("ministral3", {{"sliding_window", 40}}), std::vector(3, 40));
  const json on = {{"use_sliding_window", true}, {"sliding_window", 10}};
  json changes = on;
  EXPECT_EQ(windows("qwen3", changes), std::vector<int>());  // max_window_layers is 3
  changes["max_window_layers"] = 1;
  EXPECT_EQ(windows("qwen3", changes), (std::vector<int>{0, 9, 9}));
  changes["layer_types"] = {"sliding_attention", "full_attention", "full_attention"};
  EXPECT_EQ(windows("qwen3", changes), (std::vector<int>{9, 0, 0}));
  EXPECT_EQ(windows("gemma3-causal", {}), (std::vector<int>{8, 8, 0, 8}));
  EXPECT_EQ(windows("gemma3-causal", {{"use_bidirectional_attention", true}}),
            (std::vector<int>{4, 4, 0, 4}));
}

TEST(LanguageModels, NullIsNotAlwaysAFieldThatIsLeftOut) {
  EXPECT_THAT(Edited("qwen3", {{"is_causal", nullptr}}).error(),
              testing::HasSubstr("is_causal: found null, expected true or false"));
  EXPECT_THAT(Edited("gemma3", {{"is_causal", nullptr}}).error(),
              testing::HasSubstr("is_causal: found null, expected no such field"));
  json changes = {{"use_sliding_window", true}, {"max_window_layers", 1}};
  changes["sliding_window"] = 10;
  EXPECT_EQ(Edited("qwen3", changes).config().windows, (std::vector<int>{0, 9, 9}));
  changes["sliding_window"] = nullptr;
  EXPECT_EQ(Edited("qwen3", changes).config().windows, std::vector<int>());
  changes = {{"sliding_window", nullptr}};
  EXPECT_THAT(Edited("gemma3-causal", changes).error(),
              testing::HasSubstr("sliding_window: found null, expected a number"));
  changes["layer_types"] = std::vector<std::string>(4, "full_attention");
  EXPECT_EQ(Edited("gemma3-causal", changes).error(), "no error");
  for (const auto& [golden, padding] : {std::pair("gemma3", 0), std::pair("ministral3", 11)}) {
    EXPECT_EQ(Edited(golden, {{"pad_token_id", nullptr}}).config().pad_token, -1) << golden;
    EXPECT_EQ(config_with(golden, {{"pad_token_id", nullptr}}).pad_token, padding) << golden;
    EXPECT_EQ(config_with(golden, {{"pad_token_id", 3}}).pad_token, 3) << golden;
  }
  json rope = {{"rope_type", "yarn"}, {"factor", 4}, {"original_max_position_embeddings", 64}};
  const auto frequencies = [&](const json& value) {
    rope["truncate"] = value;
    return Edited("qwen3", {{"rope_scaling", rope}}).config().frequencies;
  };
  EXPECT_NE(frequencies(true), frequencies(false));
  EXPECT_EQ(frequencies(nullptr), frequencies(false));
}

// transformers writes its name with a line before it, too, but never reads that.
TEST(LanguageModels, PatternsOfWindowsHaveOneName) {
  const json changes = {{"sliding_window_pattern", nullptr}, {"_sliding_window_pattern", 2}};
  EXPECT_EQ(config_with("gemma3-causal", changes).windows, std::vector(4, 8));
  const json types = {{"layer_types", nullptr}, {"sliding_window_pattern", 2}};
  EXPECT_THAT(config_with("embedding-gemma2", types).windows,
              testing::ElementsAre(testing::Gt(0), 0, testing::Gt(0), 0));
  const json same = {{"num_key_value_heads", nullptr}};  // left out where it is that of all layers
  const json layers = {{"per_layer_config", {{"01", same}, {"03", same}}}};
  EXPECT_EQ(config_with("embedding-gemma2", layers).global_heads->key_heads, 4);
}

TEST(LanguageModels, WithoutModulesTheLastTokenIsAsInSentenceTransformers) {
  const auto poolings = [](const char* golden, json changes, const char* architecture) {
    changes["architectures"] = {architecture};
    const Edited copy(golden, changes);
    std::filesystem::remove(copy.path("modules.json"));
    return models::read_sentence_modules(copy.path(), copy.config(), false).poolings;
  };
  using enum models::Pooling;
  const json both = {{"is_causal", false}}, gemma = {{"use_bidirectional_attention", true}};
  EXPECT_EQ(poolings("qwen3", json::object(), "Qwen3ForCausalLM"), std::vector{last});
  EXPECT_EQ(poolings("qwen3", both, "Qwen3ForCausalLM"), std::vector{mean});
  EXPECT_EQ(poolings("gemma3", gemma, "Gemma3ForCausalLM"), std::vector{last});
  EXPECT_EQ(poolings("gemma3", gemma, "Gemma3TextModel"), std::vector{mean});
}

TEST(LanguageModels, TurnsThatVersionsReadDifferentlyAreRefused) {
  EXPECT_THAT(
      error_with("qwen3", {{"rope_scaling", {{"type", "linear"}, {"rope_type", "default"}}}}),
      testing::HasSubstr("rope_type: found \"default\", expected \"linear\", as in"));
  const auto gemma = [](const json& scaling) {
    return error_with("gemma3", {{"rope_scaling", scaling}});
  };
  EXPECT_THAT(gemma({{"type", "linear"}, {"factor", 8}}),
              testing::HasSubstr("type: found \"linear\", expected \"rope_type\" as the name"));
  EXPECT_THAT(gemma({{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 500}}),
              testing::HasSubstr("rope_theta: found 500, expected no such field"));
  const json both = {{"rope_type", "default"}, {"type", "linear"}, {"factor", 8}};
  EXPECT_EQ(config_with("gemma3", {{"rope_scaling", both}}).frequencies,
            config_with("gemma3", {}).frequencies);
  EXPECT_THAT(error_with("ultrabert", {{"rope_theta", {1, 2, 3}}}),
              testing::HasSubstr("rope_theta: found an array, expected null"));
}

TEST(LanguageModels, MinistralEndsWhereItsQueriesWouldGrow) {
  EXPECT_EQ(config_with("ministral3", {}).positions, 256);
  const test::CopiedModel copy("ministral3");
  auto rope = json::parse(copy.read("config.json")).at("rope_parameters");
  rope["llama_4_scaling_beta"] = 0;
  EXPECT_EQ(config_with("ministral3", {{"rope_parameters", rope}}).positions, 2048);
  rope["llama_4_scaling_beta"] = 0.1;
  rope["original_max_position_embeddings"] = 0;
  EXPECT_THAT(error_with("ministral3", {{"rope_parameters", rope}}),
              testing::HasSubstr("original_max_position_embeddings: found 0, expected"));
  EXPECT_THAT(error_with("ministral3", {{"rope_parameters", nullptr}}),
              testing::HasSubstr("\"rope_parameters\" is missing, expected the settings that"));
}

TEST(LanguageModels, CodeThatTakesTheMaskAwayIsKnownByName) {
  EXPECT_THAT(error_with("voyage", {{"auto_map", {{"AutoModel", "other.OtherModel"}}}}),
              testing::HasSubstr("\"is_causal\" is missing, expected true or false, as the code"));
  EXPECT_THAT(error_with("voyage", {{"auto_map", nullptr}}),
              testing::HasSubstr("unexpected tensor 'linear.weight'"));
  EXPECT_THAT(error_with("voyage", {{"num_labels", 45}}),
              testing::HasSubstr("has shape [44, 48], expected [45, 48]"));
  for (const char* golden : {"voyage", "perplexity", "llama-without-mask"}) {
    EXPECT_THAT(error_with(golden, {{"use_bidirectional_attention", false}}),
                testing::HasSubstr("use_bidirectional_attention: found false, expected true"))
        << golden;
  }
  EXPECT_THAT(error_with("perplexity", {{"is_causal", true}}),
              testing::HasSubstr("is_causal: found true, expected false"));
  EXPECT_THAT(error_with("perplexity", {{"auto_map", {{"AutoConfig", "other.OtherConfig"}}}}),
              testing::HasSubstr("expected a known one, PPLXQwen3Config"));
}

TEST(LanguageModels, ARerankerOfNvidiasPoolsAsItsFileSays) {
  constexpr const char* kGolden = "llama-without-mask-classification";
  using enum models::Config::ClassifierPooling;
  EXPECT_EQ(config_with(kGolden, {{"pooling", "cls"}}).classifier_pooling, first);
  EXPECT_EQ(config_with(kGolden, {{"pooling", "last"}}).classifier_pooling, last);
  EXPECT_THAT(error_with(kGolden, {{"pooling", "weighted_avg"}}),
              testing::HasSubstr("pooling: found \"weighted_avg\", expected avg, cls or last"));
  EXPECT_THAT(error_with(kGolden, {{"temperature", 0}}),
              testing::HasSubstr("temperature: found 0, expected a positive number"));
  EXPECT_THAT(error_with(kGolden, {{"temperature", 1e-50}}),
              testing::HasSubstr("expected a positive number that a float can hold"));
}

TEST(LanguageModels, OfLiquidAiHaveConvolutionsInSomeLayers) {
  const auto of = [](const char* golden, const json& changes) {
    return config_with(golden, changes).short_convolutions;
  };
  const std::vector<bool> some = {true, false, true, false};
  EXPECT_EQ(of("lfm2", {}).layers, some);
  EXPECT_TRUE(of("lfm2", {}).is_causal);
  EXPECT_FALSE(of("lfm2-without-mask", {}).is_causal);
  EXPECT_EQ(of("lfm2", {{"full_attn_idxs", {0, 1, 2}}}).layers[3], true);
  EXPECT_EQ(config_with("lfm2", {}).intermediate, 36);  // 1.1 times two thirds of 50, by sixes
  EXPECT_EQ(config_with("lfm2", {{"block_auto_adjust_ff_dim", false}}).intermediate, 50);
  EXPECT_EQ(config_with("lfm2", {{"intermediate_size", 70}}).intermediate, 36);
  EXPECT_EQ(of("lfm2-without-mask", {}).are_masked, true);
  EXPECT_EQ(of("lfm2-bidirectional-tokens", {{"conv_zero_padding", nullptr}}).are_masked,
            std::nullopt);
  for (const auto& [changes, error] : std::vector<std::pair<json, const char*>>{
           {{{"conv_bias", true}}, "conv_bias: found true, expected false"},
           {{{"full_attn_idxs", {1, 4}}}, "full_attn_idxs[1]: found 4, expected an integer from 0"},
           {{{"layer_types", {"conv", "full_attention"}}}, "found 2 entries, expected 4"},
           {{{"layer_types", {"conv", "linear_attention", "conv", "conv"}}},
            "layer_types[1]: found \"linear_attention\", expected conv or full_attention"},
           {{{"conv_L_cache", 4}}, "conv.conv.weight' has shape [48, 1, 3], expected [48, 1, 4]"},
           {{{"tie_embedding", false}}, "tie_embedding: found false, expected true"},
           {{{"auto_map", {{"AutoModel", "other.OtherModel"}}}}, "\"is_causal\" is missing"}}) {
    EXPECT_THAT(error_with("lfm2", changes), testing::HasSubstr(error)) << changes;
  }
}

TEST(LanguageModels, LayersWithAConvolutionHaveNoAttentionToShow) {
  const Model model = test::load_golden("lfm2");
  const std::vector<Encoding> inputs = {{.ids = {3, 4, 5}, .type_ids = {0, 0, 0}}};
  const std::vector<int> shown = {1, 3}, hidden = {0};
  EXPECT_EQ(model.attention(inputs, shown)[0].layers.size(), 2u);
  EXPECT_EQ(test::error_of([&] { model.attention(inputs, hidden); }),
            "attention: layer 0 has none, but a convolution");
}

// Queries for late interaction are filled up with tokens that nobody attends to: zeros there, too.
TEST(LanguageModels, ConvolutionsDoNotReachWhatIsUnattended) {
  for (const char* golden : {"lfm2", "lfm2-without-mask"}) {
    const Model model = test::load_golden(golden);
    const std::vector<Encoding> inputs = {
        {.ids = {3, 4, 5, 6}, .type_ids = {0, 0, 0, 0}},
        {.ids = {3, 4, 5, 6, 7, 8}, .type_ids = std::vector<int32_t>(6), .unattended = 2}};
    const std::vector<int> last = {-1};
    const std::vector<Hidden> hidden = model.hidden(inputs, last);
    const Output &alone = hidden[0].layers[0], &filled = hidden[1].layers[0];
    for (int64_t i = 0; i < 4 * alone.columns; ++i) {
      ASSERT_NEAR(alone.values[i], filled.values[i], 1e-5) << golden << ": " << i;
    }
  }
}

TEST(LanguageModels, JinasAreWithoutAnAdapterIfNoneIsThere) {
  for (const char* golden : {"jina-v5-small", "jina-v5-nano"}) {
    const Model model = test::load_golden(golden);
    EXPECT_THAT(model.info().notes, testing::Contains(testing::HasSubstr("no adapter is there")));
  }
}

TEST(LanguageModels, ThatAreCausalPoolTheLastTokenUnlessModulesSayOtherwise) {
  const test::CopiedModel copy("qwen2");
  EXPECT_THAT(Model::load(copy.path()).info().pooling, testing::HasSubstr("mean (the default"));
  copy.change("config.json", {{"architectures", {"Qwen2ForCausalLM"}}});
  EXPECT_THAT(Model::load(copy.path()).info().pooling, testing::HasSubstr("last (the default"));
  copy.change("config.json", {{"is_causal", false}});
  EXPECT_THAT(Model::load(copy.path()).info().pooling, testing::HasSubstr("mean (the default"));
}

}  // namespace
}  // namespace bert::language_models
