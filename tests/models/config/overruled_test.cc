// SPDX-License-Identifier: Apache-2.0
//
// Fields that overrule others in transformers: they are followed, or refused where they are not
// supported. What they mean was found by comparing random models with transformers'.
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/config/config.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::error_of;
using testing::HasSubstr;

// Sets fields, also to null.
void set(const CopiedModel& copy, const json& fields) {
  json config = json::parse(copy.read("config.json"));
  config.update(fields);
  copy.write_json("config.json", config);
}
std::string error_with(const char* golden, const json& fields) {
  const CopiedModel copy(golden);
  set(copy, fields);
  return error_of([&] { Model::load(copy.path()); });
}
models::Config config_with(const char* golden, const json& fields) {
  const CopiedModel copy(golden);
  set(copy, fields);
  return models::read_config(copy.path(), "");
}
// Adds a tensor with another one's values plus `more`.
void add_tensor(const CopiedModel& copy, const std::string& name, const std::string& of,
                float more) {
  const std::string content = copy.read("model.safetensors");
  uint64_t size = 0;
  std::memcpy(&size, content.data(), sizeof size);
  json header = json::parse(content.substr(8, size));
  std::string bytes = content.substr(8 + size);
  json tensor = header.at(of);
  const size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
  std::vector<float> values((end - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, end - begin);
  for (float& value : values) value += more;
  tensor["data_offsets"] = {bytes.size(), bytes.size() + end - begin};
  header[name] = tensor;
  bytes.append(reinterpret_cast<const char*>(values.data()), end - begin);
  const std::string text = header.dump();
  size = text.size();
  copy.write("model.safetensors",
             std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + bytes);
}
bool same_frequencies(const char* golden, const json& a, const json& b) {
  return config_with(golden, a).frequencies == config_with(golden, b).frequencies;
}

TEST(Overruled, WhetherTokensAttendToLaterOnes) {
  for (const char* golden : {"plain", "modernbert", "t5", "gte", "nomic", "esm", "eurobert"}) {
    EXPECT_THAT(error_with(golden, {{"is_causal", true}}),
                HasSubstr("is_causal: found true, expected false: only encoders are supported"))
        << golden;
    EXPECT_EQ(error_with(golden, {{"is_causal", false}}), "no error") << golden;
  }
  for (const char* golden : {"bart", "gemma3"}) {
    EXPECT_THAT(error_with(golden, {{"is_causal", false}}), HasSubstr("is_causal: found false"));
  }
  EXPECT_THAT(error_with("t5", {{"is_decoder", true}}), HasSubstr("is_decoder: found true"));
  EXPECT_FALSE(config_with("llama", {{"is_causal", false}}).is_causal);
}

TEST(Overruled, SizesBySecondNames) {
  EXPECT_THAT(error_with("distilbert", {{"num_hidden_layers", 1}}),
              HasSubstr("num_hidden_layers: found 1, expected"));
  EXPECT_THAT(error_with("distilbert", {{"hidden_size", 7}}), HasSubstr("as dim is"));
  EXPECT_THAT(error_with("t5", {{"num_attention_heads", 1}}), HasSubstr("as num_heads is"));
  EXPECT_THAT(error_with("bart", {{"num_hidden_layers", 77}}), HasSubstr("as encoder_layers is"));
}

TEST(Overruled, Activations) {
  using enum engine::Activation;
  EXPECT_EQ(config_with("t5", {{"dense_act_fn", "gelu_new"}}).activation, gelu_tanh);
  EXPECT_THAT(error_with("t5", {{"dense_act_fn", "glu"}}),
              HasSubstr("dense_act_fn: found \"glu\""));
  EXPECT_EQ(config_with("mt5", {{"feed_forward_proj", nullptr}}).activation, gelu_tanh);
  EXPECT_THAT(error_with("mt5", {{"feed_forward_proj", "gated-relu"}}),
              HasSubstr("expected gated-gelu or gated-silu"));
  // The class of GTE in transformers has one for its head.
  const models::Config gte = config_with("gte5-mlm", {{"hidden_act", "relu"}});
  EXPECT_EQ(gte.activation, relu);
  EXPECT_EQ(gte.head_activations.begin()->second, gelu);
}

TEST(Overruled, Thetas) {
  const json none = {{"rope_parameters", nullptr}, {"rope_theta", nullptr}};
  const auto theta = [](double value) {
    return json{{"rope_parameters", nullptr}, {"rope_theta", value}};
  };
  EXPECT_TRUE(same_frequencies("gte5-mlm", none, theta(160000)));
  const json beside = {{"rope_parameters", {{"rope_type", "default"}}}, {"rope_theta", 700}};
  EXPECT_TRUE(same_frequencies("gte5-mlm", beside, theta(700)));
  EXPECT_TRUE(same_frequencies(
      "eurobert", {{"rope_parameters", json::object()}, {"rope_theta", nullptr}}, theta(10000)));
  EXPECT_TRUE(
      same_frequencies("nomic5-tokens", theta(50), {{"rope_parameters", {{"rope_theta", 50}}}}));
  EXPECT_TRUE(same_frequencies("jina-v3", theta(50), {{"rope_parameters", {{"rope_theta", 50}}}}));
  for (const char* golden : {"nomic5-tokens", "jina-v3"}) {
    EXPECT_THAT(error_with(golden, {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 4}}}}),
                HasSubstr("rope_scaling: found an object"));
  }
  json stretched = {{"rope_scaling", nullptr},
                    {"rope_parameters",
                     {{"rope_type", "llama3"},
                      {"rope_theta", 500},
                      {"factor", 8},
                      {"low_freq_factor", 1},
                      {"high_freq_factor", 4},
                      {"original_max_position_embeddings", 77}}}};
  const json inside = stretched;
  stretched["rope_parameters"]["original_max_position_embeddings"] = 32;
  EXPECT_FALSE(same_frequencies("llama", inside, stretched));
  stretched["original_max_position_embeddings"] = 77;
  EXPECT_TRUE(same_frequencies("llama", inside, stretched));
}

TEST(Overruled, Windows) {
  const auto mistral = [](const json& window) {
    return config_with("mistral-classification",
                       {{"sliding_window", window}, {"max_position_embeddings", 9000}});
  };
  EXPECT_EQ(mistral(nullptr).windows, std::vector<int>());
  EXPECT_EQ(mistral(70).windows, std::vector(2, 69));
  const CopiedModel copy("mistral-classification");
  json config = json::parse(copy.read("config.json"));
  config.erase("sliding_window");
  config["max_position_embeddings"] = 9000;
  copy.write_json("config.json", config);
  EXPECT_EQ(models::read_config(copy.path(), "").windows, std::vector(2, 4095));
  EXPECT_EQ(config_with("modernbert", {{"sliding_window", 3}}).windows[1], 3);
  EXPECT_THAT(error_with("ultrabert-published", {{"attention_windows", {0, 3, 5}}}),
              HasSubstr("attention_windows[2]: found 5, expected 0 or 3"));
  EXPECT_THAT(error_with("ultrabert-published", {{"layer_types", {"full_attention"}}}),
              HasSubstr("layer_types: found an array, expected null"));
}

TEST(Overruled, DistanceTerms) {
  const auto terms = [](const char* golden, const json& value) {
    return error_with(golden, {{"pos_att_type", value}});
  };
  EXPECT_EQ(terms("deberta1", "P2C | c2p"), "no error");
  for (const json& wrong : {json{"c2p", "p2c", "p2p"}, json{"c2p", "p2c", "c2p"}, json::array()}) {
    EXPECT_THAT(terms("deberta1", wrong), HasSubstr("expected c2p, p2c or both")) << wrong;
  }
  EXPECT_EQ(terms("deberta", {"c2p", "p2c", "p2p"}), "no error");
}

TEST(Overruled, WordsUnderSeveralNamesAreTheSame) {
  for (const auto& [golden, name] : {std::pair("t5", "encoder.embed_tokens.weight"),
                                     std::pair("bart", "decoder.embed_tokens.weight")}) {
    const CopiedModel same(golden), other(golden);
    add_tensor(same, name, "shared.weight", 0);
    EXPECT_NO_THROW(Model::load(same.path())) << golden;
    add_tensor(other, name, "shared.weight", 0.5f);
    EXPECT_THAT(test::load_error(other),
                HasSubstr("differs from 'shared.weight', but other word embeddings are not"));
  }
}

}  // namespace
}  // namespace bert
