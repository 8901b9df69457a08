// SPDX-License-Identifier: Apache-2.0
//
// The table of families and heads in docs/models.md is that of the source, and what the layers of
// language models have that encoders do not is refused.
#include "models/config/families/families.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert::models {
namespace {

using Cells = std::vector<std::string>;

// The cells of a line "| a | b |" without the white space and the backquotes around them.
Cells cells_of(const std::string& line) {
  Cells cells;
  for (size_t begin = 1; begin < line.size();) {
    const size_t end = line.find('|', begin);
    if (end == std::string::npos) break;
    const size_t first = line.find_first_not_of(" `", begin),
                 last = line.find_last_not_of(" `", end - 1);
    cells.push_back(first < end ? line.substr(first, last + 1 - first) : "");
    begin = end + 1;
  }
  return cells;
}

// The table whose first line begins with `start`, which comes first; without the line below it.
std::vector<Cells> read_table(const std::string& path, const std::string& start) {
  std::ifstream file(path);
  std::vector<Cells> rows;
  for (std::string line; std::getline(file, line);) {
    if (rows.empty() && !line.starts_with(start)) continue;
    if (!line.starts_with('|')) break;
    if (!line.starts_with("|-")) rows.push_back(cells_of(line));
  }
  return rows;
}

std::string name_in_docs(const Family& family) {
  return std::string(family.model_type) +
         (family.needs_code ? std::string("` with `") + family.code : "");
}

// NeoBERT and BART have names of their own.
std::string column_of(const HeadRow& head) {
  const std::string suffix = head.suffix;
  return suffix == "LMHead" || suffix == "ForConditionalGeneration" ? "ForMaskedLM" : suffix;
}

bool has_head(const Family& family, const std::string& column) {
  return column == "Model" || std::ranges::any_of(family.heads, [&](const HeadRow& head) {
           return column_of(head) == column;
         });
}

TEST(Families, TheTableInTheDocsIsThatOfTheSource) {
  const std::vector<Cells> table = read_table(DOCS_DIR "/models.md", "| `model_type` |");
  ASSERT_FALSE(table.empty());
  const Cells& head = table.front();
  std::map<std::string, Cells> expected;  // where rows share a name, what all of them have
  for (const Family& family : families()) {
    Cells& cells = expected.try_emplace(name_in_docs(family), head.size(), "yes").first->second;
    cells[0] = name_in_docs(family);
    for (size_t i = 1; i < head.size(); ++i) {
      if (!has_head(family, head[i])) cells[i] = "–";
    }
    for (const HeadRow& row : family.heads) EXPECT_THAT(head, testing::Contains(column_of(row)));
  }
  std::vector<Cells> rows;
  for (auto& [name, cells] : expected) rows.push_back(cells);
  EXPECT_THAT(std::vector<Cells>(table.begin() + 1, table.end()),
              testing::UnorderedElementsAreArray(rows));
}

std::string error_with(const char* golden, const nlohmann::json& changes) {
  const test::CopiedModel copy(golden);
  copy.change("config.json", changes);
  return test::load_error(copy);
}

TEST(Families, SettingsThatOnlyLanguageModelsHaveAreRefused) {
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"num_key_value_heads", 2}}, "found 2, expected a divisor of 'num_attention_heads'"},
           {{{"head_dim", 32}}, "has shape [48, 48], expected [96, 48]"},
           {{{"query_pre_attn_scalar", 0}}, "query_pre_attn_scalar: found 0, expected a positive"},
           {{{"attn_logit_softcapping", 50}}, "found 50, expected null: it is not supported"},
           {{{"sliding_window", 1}}, "found 1, expected an integer from 2 to"},
           {{{"rope_scaling", {{"rope_type", "yarn"}}}}, "found \"yarn\", expected \"default\" or"},
           {{{"rope_scaling", {{"rope_type", "linear"}, {"factor", 0}}}},
            "factor: found 0, expected"}}) {
    EXPECT_THAT(error_with("gemma3", changes), testing::HasSubstr(error)) << changes;
  }
  EXPECT_THAT(error_with("eurobert", {{"rope_theta", nullptr}}),
              testing::HasSubstr("\"rope_theta\" is missing, expected a number"));
  EXPECT_THAT(error_with("eurobert-mean", {{"classifier_pooling", "cls"}}),
              testing::HasSubstr("found \"cls\", expected bos, mean or late"));
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"attention_windows", {6, 0}}},
            "attention_windows: found 2 entries, expected 3, one for"},
           {{{"attention_windows", {6, -1, 6}}},
            "attention_windows[1]: found -1, expected an integer"},
           {{{"rope_theta", {500, 1000}}}, "rope_theta: found 2 entries, expected 3, one for each"},
           {{{"rope_theta", {500, 0, 500}}}, "rope_theta[1]: found 0, expected a positive number"},
           {{{"classifier_pooling", "late"}}, "found \"late\", expected cls or mean"}}) {
    EXPECT_THAT(error_with("ultrabert-published", changes), testing::HasSubstr(error)) << changes;
  }
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"architectures", {"T5ForConditionalGeneration"}}},
            "expected one of T5EncoderModel, T5ForTokenClassification"},
           {{{"feed_forward_proj", "gated-gelu"}}, "found \"gated-gelu\", expected gelu, gelu_new"},
           {{{"relative_attention_max_distance", 64}}, "found 64, expected 128"},
           {{{"d_kv", nullptr}}, "\"d_kv\" is missing"},
           {{{"d_kv", 12}}, "has shape [80, 48], expected [48, 48]"}}) {
    EXPECT_THAT(error_with("t5", changes), testing::HasSubstr(error)) << changes;
  }
  EXPECT_THAT(error_with("t5-tokens", {{"feed_forward_proj", "relu"}}),
              testing::HasSubstr("found \"relu\", expected gated-gelu or gated-silu"));
}

TEST(Families, HeadsOfLayersWithoutAWindowAreAlike) {
  const auto by_layer = [](const char* layer, const char* field, const nlohmann::json& value) {
    return error_with("embedding-gemma2", {{"per_layer_config", {{layer, {{field, value}}}}}});
  };
  EXPECT_THAT(by_layer("03", "head_dim", 12), testing::HasSubstr("found 12, expected 24"));
  EXPECT_THAT(by_layer("01", "head_dim", 23), testing::HasSubstr("found 23, expected an even"));
  EXPECT_THAT(by_layer("03", "num_key_value_heads", 2),
              testing::HasSubstr("[\"03\"].num_key_value_heads: found 2, expected 1"));
  EXPECT_THAT(by_layer("01", "num_key_value_heads", 3),
              testing::HasSubstr("expected a divisor of"));
  EXPECT_THAT(by_layer("02", "head_dim", 24),
              testing::HasSubstr("layer 2 is among them, expected the layers with full_attention"));
  EXPECT_THAT(error_with("embedding-gemma2", {{"per_layer_config", {{"03", nullptr}}}}),
              testing::HasSubstr("per_layer_config: layer 3 is missing"));
  EXPECT_THAT(error_with("embedding-gemma2", {{"per_layer_config", nullptr}}),
              testing::HasSubstr("\"per_layer_config\" is missing"));
  EXPECT_THAT(error_with("gemma3", {{"per_layer_config", {{"0", {{"head_dim", 12}}}}}}),
              testing::HasSubstr("per_layer_config: found an object, expected none"));
}

TEST(Families, DprEmbedsByTheFirstToken) {
  const test::CopiedModel copy("encoder");
  const Model bert = Model::load(copy.path());
  copy.change("config.json", {{"model_type", "dpr"}, {"architectures", {"DPRContextEncoder"}}});
  const Model dpr = Model::load(copy.path());
  EXPECT_EQ(dpr.info().similarity, "dot");
  EXPECT_FALSE(dpr.info().has_pooler);
  const std::vector<Input> inputs = {{"a man plays"}, {"the", "music"}};
  const Output found = dpr.embed(inputs);
  const auto states = bert.hidden(inputs);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::ranges::equal(found.row(i), states[i].states.row(0)));
  }
  copy.change("config.json", {{"projection_dim", 12}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("projection_dim: found 12, expected 0"));
  copy.change("config.json", {{"architectures", {"DPRReader"}}, {"projection_dim", 0}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("expected one of DPRContextEncoder"));
}

// With parts for images and sounds, whose settings and weights are not read.
TEST(Families, SettingsMayBeNested) {
  const test::CopiedModel copy("embedding-gemma2");
  const Model golden = Model::load(copy.path());
  auto settings = nlohmann::json::parse(copy.read("config.json"));
  copy.write_json("config.json", {{"architectures", {"EmbeddingGemma2Model"}},
                                  {"model_type", "embedding_gemma2"},
                                  {"text_config", settings},
                                  {"vision_config", {{"hidden_size", 7}}},
                                  {"audio_config", nullptr},
                                  {"image_token_id", 8}});
  const std::vector<Input> inputs = {{"a man plays"}, {"the", "music"}};
  const Model nested = Model::load(copy.path());
  EXPECT_EQ(nested.hidden(inputs)[1].states.values, golden.hidden(inputs)[1].states.values);
  EXPECT_TRUE(nested.info().notes.empty());
  settings["rms_norm_eps"] = "small";
  copy.change("config.json", {{"text_config", settings}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("text_config.rms_norm_eps: found \"sm"));
  copy.change("config.json", {{"text_config", 3}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("text_config: found 3, expected an obj"));
}

TEST(Families, ErrorsNameTheFieldsThatTheFileHas) {
  const test::CopiedModel copy("nomic-classification");
  copy.change("config.json", {{"activation_function", "mish"}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("activation_function: found \"mish\""));
  copy.change("config.json", {{"activation_function", nullptr}, {"hidden_act", "mish"}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("hidden_act: found \"mish\""));
  copy.change("config.json", {{"hidden_act", "silu"}, {"n_head", 7}});
  EXPECT_THAT(test::load_error(copy),
              testing::HasSubstr("n_head: found 7, expected a divisor of 'n_embd'"));
}

TEST(Families, LongformersWindowsAreEvenAndOneForEachLayer) {
  for (const auto& [value, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{12, 12}, "attention_window: found 2 entries, expected 3, one for each layer"},
           {{12, 7, 12}, "attention_window[1]: found 7, expected an even number"},
           {0, "attention_window: found 0, expected an integer from 2 to"}}) {
    const test::CopiedModel copy("longformer");
    copy.change("config.json", {{"attention_window", value}});
    EXPECT_THAT(test::load_error(copy), testing::HasSubstr(error)) << value;
  }
}

TEST(Families, OnlyGatedNetworksHaveGatedActivations) {
  const test::CopiedModel copy("plain");
  copy.change("config.json", {{"hidden_act", "swiglu"}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("hidden_act: found \"swiglu\", expected"));
}

TEST(Families, TablesOfPositionsAreLimited) {
  const test::CopiedModel copy("jina");
  copy.change(
      "config.json",
      {{"hidden_size", 512}, {"num_attention_heads", 256}, {"max_position_embeddings", 1 << 20}});
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("expected at most 262144 with 256 heads"));
}

TEST(Families, ExpertsAreThoseOfNomicsCode) {
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"moe_top_k", 6}}, "moe_top_k: found 6, expected an integer from 1 to 5"},
           {{{"moe_top_k", nullptr}}, "\"moe_top_k\" is missing"},
           {{{"moe_normalize_expert_weights", true}}, "expert_weights: found true, expected false"},
           {{{"num_shared_experts", 1}}, "num_shared_experts: found 1, expected 0"},
           {{{"moe_every_n_layers", 0}}, "tensor 'encoder.layers.1.mlp.fc1.weight' is missing"},
           {{{"num_experts", 4}}, "has shape [5, 48], expected [4, 48]"},
           {{{"scale_attn_weights", false}}, "scale_attn_weights: found false, expected true"}}) {
    const test::CopiedModel copy("nomic-moe");
    copy.change("config.json", changes);
    EXPECT_THAT(test::load_error(copy), testing::HasSubstr(error)) << changes;
  }
}

TEST(Families, ThePrivacyFiltersSettingsAreItsOwn) {
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"num_experts_per_tok", 7}}, "found 7, expected an integer from 1 to 6"},
           {{{"num_local_experts", 5}}, "has shape [6, 48], expected [5, 48]"},
           {{{"swiglu_alpha", 1}}, "swiglu_alpha: found 1, expected 1.702"},
           {{{"swiglu_limit", 0}}, "swiglu_limit: found 0, expected a positive number"},
           {{{"sliding_window", nullptr}}, "\"sliding_window\" is missing"},
           {{{"rope_parameters", nullptr}}, "\"rope_parameters\" is missing"},
           {{{"num_key_value_heads", nullptr}}, "\"num_key_value_heads\" is missing"}}) {
    const test::CopiedModel copy("privacy-filter");
    copy.change("config.json", changes);
    EXPECT_THAT(test::load_error(copy), testing::HasSubstr(error)) << changes;
  }
}

TEST(Families, ProteinsAreSplitIntoTheVocabularysTokens) {
  const Model model = test::load_golden("esm-mlm");
  const std::vector<Input> inputs = {{"MKT<mask>YIA KQJJx R"}, {" M  <cls>A\tjj-.k", "AY"}, {""}};
  const std::vector<std::vector<int32_t>> want = {{0, 20, 15, 11, 32, 19, 12, 5, 15, 16, 3, 10, 2},
                                                  {0, 20, 0, 5, 3, 30, 29, 3, 2, 5, 19, 2},
                                                  {0, 2}};
  const std::vector<Encoding> got = model.tokenize(inputs);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].ids, want[i]);
  EXPECT_EQ(got[0].offsets[10].begin, 15);
  EXPECT_EQ(got[0].offsets[10].end, 18);
  const test::CopiedModel genome("esm-mlm");
  genome.write_json("tokenizer_config.json",
                    {{"tokenizer_class", "EsmTokenizer"}, {"eos_token", nullptr}});
  EXPECT_EQ(Model::load(genome.path()).tokenize(inputs)[0].ids, want[0]);  // by the map's <eos>
  genome.write_json("special_tokens_map.json", {{"eos_token", nullptr}});
  EXPECT_THAT(test::error_of([&] { Model::load(genome.path()).tokenize(inputs); }),
              testing::HasSubstr("eos_token: found null, expected a token"));
}

TEST(Families, EsmIsWhatItsSettingsAndTensorsSay) {
  const auto error_with = [](const char* golden, const nlohmann::json& changes) {
    const test::CopiedModel copy(golden);
    copy.change("config.json", changes);
    return test::load_error(copy);
  };
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"is_folding_model", true}}, "expected false: ESMFold is not supported"},
           {{{"architectures", {"EsmForProteinFolding"}}}, "found \"EsmForProteinFolding\", exp"},
           {{{"emb_layer_norm_before", true}}, "found true, expected false, going by the tensors"},
           {{{"hidden_act", "relu"}}, "hidden_act: found \"relu\", expected \"gelu\""},
           {{{"mask_token_id", nullptr}}, "\"mask_token_id\" is missing"},
           {{{"position_embedding_type", "relative_key"}}, "expected absolute or rotary"},
           {{{"auto_map", {{"AutoConfig", "esm_config.EsmConfig"}}}}, "code beside a model"}}) {
    EXPECT_THAT(error_with("esm-mlm", changes), testing::HasSubstr(error)) << changes;
  }
  EXPECT_THAT(error_with("esm1b", {{"emb_layer_norm_before", false}}),
              testing::HasSubstr("found false, expected true, going by the tensors"));
  const test::CopiedModel copy("esm");
  copy.change_tensor("encoder.layer.1.attention.self.rotary_embeddings.inv_freq",
                     [](float* values, size_t) { values[1] *= 1.5f; });
  EXPECT_THAT(test::load_error(copy),
              testing::HasSubstr("inv_freq' differs from 'encoder.layer.0"));
  Encoding filled = test::reference_inputs(read_safetensors(test::golden("esm.safetensors")))[3];
  filled.unattended = 1;
  EXPECT_THAT(test::error_of([&] { test::load_golden("esm").embed(std::vector{filled}); }),
              testing::HasSubstr("expected 0 for a model with token_dropout"));
}

TEST(Families, NeoBertsVariantsAreRefused) {
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"rms_norm", false}}, "rms_norm: found false, expected true"},
           {{{"rope", false}}, "rope: found false, expected true"},
           {{{"ngpt", true}}, "ngpt: found true, expected false"},
           {{{"is_decoder", true}}, "is_decoder: found true, expected false"},
           {{{"hidden_act", "gelu"}}, "hidden_act: found \"gelu\", expected \"SwiGLU\""},
           {{{"hidden_act", "SwiGLU"}}, ""},
           {{{"intermediate_size", 90}}, "has shape [80, 48], expected [128, 48]"}}) {
    const test::CopiedModel copy("neobert");
    copy.change("config.json", changes);
    EXPECT_THAT(test::load_error(copy), testing::HasSubstr(error)) << changes;
  }
}

// snowflake-arctic-embed-m-v2.0 has the code of gte-multilingual-base under its own names.
TEST(Families, MobileBertsVariantsAreRefused) {
  for (const auto& [changes, error] : std::initializer_list<std::pair<nlohmann::json, const char*>>{
           {{{"use_bottleneck", false}}, "use_bottleneck: found false, expected true"},
           {{{"key_query_shared_bottleneck", false}}, "bottleneck: found false, expected true"},
           {{{"trigram_input", false}}, "trigram_input: found false, expected true"},
           {{{"use_bottleneck_attention", true}}, "attention: found true, expected false"},
           {{{"normalization_type", "layer_norm"}}, "found \"layer_norm\", expected \"no_norm\""},
           {{{"intra_bottleneck_size", 25}}, "a multiple of num_attention_heads, which is 12"},
           {{{"true_hidden_size", 48}}, "expected 24, as intra_bottleneck_size is"},
           {{{"embedding_size", 49}}, "expected at most hidden_size, which is 48"},
           {{{"hidden_size", 50}}, "has shape [128, 48], expected [128, 50]"},
           {{{"classifier_activation", false}}, "expected true, going by the tensors"}}) {
    EXPECT_THAT(error_with("mobilebert", changes), testing::HasSubstr(error)) << changes;
  }
  EXPECT_THAT(error_with("mobilebert-pretraining", {{"classifier_activation", true}}),
              testing::HasSubstr("classifier_activation: found true, expected false"));
}

TEST(Families, GtesCodeHasTwoNames) {
  const test::CopiedModel copy("gte");
  const std::vector<Input> inputs = {{"a man plays"}};
  const auto vectors = [&] { return Model::load(copy.path()).embed(inputs).values; };
  const std::vector<float> want = vectors();
  nlohmann::json renamed = {
      {"model_type", "gte"},
      {"architectures", {"GteModel"}},
      {"auto_map", {{"AutoConfig", "configuration_hf_alibaba_nlp_gte.GteConfig"}}},
      {"unpad_inputs", "true"},
      {"use_memory_efficient_attention", "true"},
      {"matryoshka_dimensions", {256}}};
  copy.change("config.json", renamed);
  EXPECT_EQ(vectors(), want);
  EXPECT_THAT(Model::load(copy.path()).info().notes, testing::IsEmpty());
  renamed["model_type"] = "new";
  copy.change("config.json", renamed);
  EXPECT_THAT(test::load_error(copy), testing::HasSubstr("expected a known one, NewConfig"));
}

TEST(Families, JinasCodeIsKnownByItsName) {
  const auto error_with = [](const char* golden, const nlohmann::json& changes) {
    const test::CopiedModel copy(golden);
    copy.change("config.json", changes);
    return test::load_error(copy);
  };
  for (const auto& [changes, error] : std::vector<std::pair<nlohmann::json, const char*>>{
           {{{"lora_adaptations", {1}}}, "lora_adaptations[0]: found 1, expected a string"},
           {{{"lora_adaptations", {"x"}}, {"lora_rank", 0}}, "lora_rank: found 0, expected"},
           {{{"use_reg_tokens", true}}, "use_reg_tokens: found true, expected false"},
           {{{"emb_pooler", "cls"}}, "emb_pooler: found \"cls\", expected \"mean\""},
           {{{"rotary_emb_base", nullptr}}, "\"rotary_emb_base\" is missing, expected a number"},
           {{{"position_embedding_type", "absolute"}}, "found \"absolute\", expected \"rotary\""},
           {{{"auto_map", {{"AutoConfig", "a--b.LoraConfig"}}}},
            "expected a known one, XLMRobertaFl"}}) {
    EXPECT_THAT(error_with("jina-roberta", changes), testing::HasSubstr(error)) << changes;
  }
  EXPECT_THAT(error_with("jina-reranker", {{"position_embedding_type", "rotary"}}),
              testing::HasSubstr("found \"rotary\", expected absolute"));
}

}  // namespace
}  // namespace bert::models
