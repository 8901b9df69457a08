// SPDX-License-Identifier: Apache-2.0
//
// Where modules.json says that the parts of a model are.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
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
  copy.write_json("sentence_bert_config.json", {{"max_seq_length", 50}});
  for (const char* file : {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json",
                           "sentence_bert_config.json"}) {
    copy.write(std::string("0_Transformer/") + file, copy.read(file));
    std::filesystem::remove(copy.path(file));
  }
  auto modules = json::parse(copy.read("modules.json"));
  modules[0]["path"] = "0_Transformer";
  copy.write_json("modules.json", modules);
  EXPECT_TRUE(test::same_bits(Model::load(copy.path()).embed(inputs).values, want.values));
  EXPECT_EQ(Tokenizer::load(copy.path()).encode(inputs[0]).ids, encoding.ids);
  EXPECT_EQ(Model::load(copy.path()).info().max_length, 50);
  copy.write_json("0_Transformer/sentence_bert_config.json", {{"transformer_task", "fill-mask"}});
  EXPECT_THAT(load_error(copy), HasSubstr("expected feature-extraction, which the modules in"));
  copy.write_json("0_Transformer/sentence_bert_config.json", {{"max_seq_length", 50}});
  std::filesystem::create_directory(copy.path("0_BERT"));
  std::filesystem::rename(copy.path("0_Transformer"), copy.path("0_BERT/1"));
  modules[0]["path"] = "0_BERT/1/";
  copy.write_json("modules.json", modules);
  EXPECT_EQ(Model::load(copy.path()).info().max_length, 50);
  modules[0]["path"] = "../0_Transformer";
  copy.write_json("modules.json", modules);
  EXPECT_THAT(load_error(copy), HasSubstr("expected a folder in the model's directory"));
}

TEST(Modules, OfAFolderAboveAreNotTheModels) {
  const CopiedModel copy("st-mean");
  std::filesystem::copy(test::golden("plain"), copy.path("inner"));
  copy.write("modules.json", R"({"not": "a list"})");
  EXPECT_EQ(Model::load(copy.path("inner")).info().architecture,
            test::load_golden("plain").info().architecture);
}

// As in Perplexity's directories; a module of theirs by another name may do anything.
TEST(Modules, MayRoundTheEmbedding) {
  const CopiedModel copy("st-mean");
  auto modules = json::parse(copy.read("modules.json"));
  while (modules.size() > 2) modules.erase(2);
  const std::vector<Input> inputs = {{"a man plays the guitar"}, {"two dogs", "the beach"}, {""}};
  copy.write_json("modules.json", modules);
  const Output exact = Model::load(copy.path()).embed(inputs);
  modules.push_back({{"idx", 2},
                     {"name", "2"},
                     {"path", ""},
                     {"type", "st_quantize.FlexibleQuantizer"},
                     {"kwargs", {"quantization"}}});
  copy.write_json("modules.json", modules);
  const Model model = Model::load(copy.path());
  EXPECT_EQ(model.info().pooling, "mean, rounded to int8");
  const Output rounded = model.embed(inputs);
  std::set<float> values;
  for (size_t i = 0; i < exact.values.size(); ++i) {
    const double want = 127 * std::tanh(static_cast<double>(exact.values[i]));
    EXPECT_NEAR(rounded.values[i], want, 0.5 + 1e-4);
    EXPECT_EQ(rounded.values[i], std::round(rounded.values[i]));
    values.insert(rounded.values[i]);
  }
  EXPECT_GT(values.size(), 30u);
  modules[2]["type"] = "other.FlexibleQuantizer";
  copy.write_json("modules.json", modules);
  EXPECT_THAT(load_error(copy), HasSubstr("'type' is 'other.FlexibleQuantizer', expected"));
  std::swap(modules[1], modules[2]);
  modules[1]["type"] = "st_quantize.FlexibleQuantizer";
  copy.write_json("modules.json", modules);
  EXPECT_THAT(load_error(copy), HasSubstr("module 1: 'type' is 'st_quantize.FlexibleQuantizer'"));
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
  copy.write_json("q/config.json", {{"path", "idf.json"}});
  EXPECT_THAT(load_error(copy), HasSubstr("path: found \"idf.json\", expected none"));
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

// Of sentence_bert_config.json: they would overrule the model's own files.
TEST(Modules, OfATransformerThatIsGivenArgumentsAreRefused) {
  const CopiedModel copy("st-mean");
  const auto error = [&](const json& settings) {
    copy.write_json("sentence_bert_config.json", settings);
    return load_error(copy);
  };
  EXPECT_EQ(error({{"model_args", {{"trust_remote_code", true}, {"torch_dtype", "float16"}}},
                   {"config_args", json::object()},
                   {"tokenizer_args", {{"padding_side", "left"}, {"x", nullptr}}}}),
            "no error");
  EXPECT_THAT(error({{"config_args", {{"hidden_act", "relu"}}}}),
              HasSubstr("config_args[\"hidden_act\"]: found \"relu\", expected none"));
  EXPECT_THAT(error({{"config_kwargs", {{"num_hidden_layers", 1}}}}),
              HasSubstr("config_kwargs[\"num_hidden_layers\"]: found 1"));
  for (const char* field : {"tokenizer_args", "processor_kwargs"}) {
    EXPECT_THAT(error({{field, {{"truncation_side", "left"}}}}),
                HasSubstr("[\"truncation_side\"]: found"));
  }
  EXPECT_THAT(error({{"tokenizer_name_or_path", "x"}}), HasSubstr("tokenizer_name_or_path: found"));
  EXPECT_THAT(error({{"query_length", 4}}), HasSubstr("query_length: found 4, expected none"));
  EXPECT_THAT(error({{"document_length", 4}}), HasSubstr("document_length: found"));
  for (const char* task : {"fill-mask", "sequence-classification"}) {
    EXPECT_THAT(error({{"transformer_task", task}}),
                HasSubstr("expected feature-extraction, which the modules in"));
  }
  const CopiedModel splade("splade");
  splade.write_json("sentence_bert_config.json", {{"transformer_task", "feature-extraction"}});
  EXPECT_THAT(load_error(splade), HasSubstr("expected fill-mask"));
}

TEST(Modules, WithoutATransformerAreRefused) {
  const CopiedModel copy("st-mean");
  const std::string type = "sentence_transformers.models.";
  std::filesystem::remove(copy.path("config.json"));
  copy.write_json("modules.json", {{{"type", type + "StaticEmbedding"}, {"path", ""}}});
  EXPECT_THAT(load_error(copy),
              HasSubstr("modules.json: module 0: 'type' is 'sentence_transformers.models."
                        "StaticEmbedding', expected Transformer"));
}

TEST(Modules, OfOtherFeaturesOrClassesAreRefused) {
  const CopiedModel copy("st-mean");
  copy.write_json("2_Normalize/config.json", {{"module_input_name", "sentence_embedding"}});
  copy.write_json("config_sentence_transformers.json", {{"model_type", "SentenceTransformer"}});
  EXPECT_EQ(load_error(copy), "no error");
  for (const char* field : {"module_input_name", "module_output_name"}) {
    copy.write_json("2_Normalize/config.json", {{field, "token_embeddings"}});
    EXPECT_THAT(load_error(copy), HasSubstr(std::string(field) + ": found \"token_embeddings\""));
  }
  copy.write("2_Normalize/config.json", "{}");
  copy.write_json("config_sentence_transformers.json", {{"model_type", "CrossEncoder"}});
  EXPECT_THAT(load_error(copy), HasSubstr("model_type: found \"CrossEncoder\""));
}

// Whose settings depend on what wrote the directory.
TEST(Modules, OfVectorsOfTokensFollowTheModelType) {
  const CopiedModel copy("modernbert-colbert");
  const auto error = [&](const json& settings) {
    copy.write_json("config_sentence_transformers.json", settings);
    return load_error(copy);
  };
  const json own = {{"model_type", "MultiVectorEncoder"}};
  EXPECT_THAT(error(own), HasSubstr("4_Normalize/config.json"));  // would leave them as they are
  EXPECT_EQ(error({{"model_type", "SentenceTransformer"}}), "no error");
  copy.write_json("4_Normalize/config.json", {{"module_input_name", "token_embeddings"}});
  EXPECT_EQ(error(own), "no error");
  EXPECT_THAT(error({{"model_type", "MultiVectorEncoder"}, {"query_length", 12}}),
              HasSubstr("query_length: found 12, expected none, as model_type is"));
  EXPECT_THAT(error({{"model_type", "SparseEncoder"}}), HasSubstr("model_type: found"));
  EXPECT_THAT(error({{"query_expansion", {{"length", 8}}}}), HasSubstr("query_expansion: found"));
  EXPECT_THAT(error({{"attend_to_mask_tokens", true}}), HasSubstr("attend_to_mask_tokens: found"));
  const json prefixes = {{"query_prefix", "[CLS] "}, {"document_prefix", "[SEP] "}};
  EXPECT_THAT(error(prefixes), HasSubstr("skiplist_words: found an array, expected none in"));
  copy.write("3_Mask/config.json", "{}");
  EXPECT_EQ(error(prefixes), "no error");
  copy.write_json("sentence_bert_config.json", {{"document_length", 9}});
  EXPECT_THAT(error(prefixes), HasSubstr("document_length: found 9, expected none, as"));
}

// The tokens that fill up a query have vectors only because a MultiVectorMask says so.
TEST(Modules, OfVectorsOfTokensWithExpansionNeedAMask) {
  const CopiedModel copy("xlm-roberta-colbert");
  copy.write_json("config_sentence_transformers.json", {{"model_type", "MultiVectorEncoder"}});
  copy.write_json("4_Normalize/config.json", {{"module_input_name", "token_embeddings"}});
  auto modules = json::parse(copy.read("modules.json"));
  const auto error = [&](const json& expansion, int query_length) {
    copy.write_json("sentence_bert_config.json",
                    {{"query_expansion", expansion}, {"query_length", query_length}});
    return load_error(copy);
  };
  const json eight = {{"strategy", "min"}, {"length", 8}};
  EXPECT_EQ(error(eight, 8), "no error");
  EXPECT_THAT(error(eight, 7), HasSubstr("query_length: found 7, expected at least"));
  modules.erase(3);
  copy.write_json("modules.json", modules);
  EXPECT_THAT(error(eight, 8), HasSubstr("has no MultiVectorMask"));
  EXPECT_EQ(error({{"strategy", "fixed"}, {"length", 8}, {"attend", true}}, 8), "no error");
  while (modules.size() > 1) modules.erase(1);
  modules.push_back({{"path", "3_Mask"}, {"type", "sentence_transformers.MultiVectorMask"}});
  copy.write_json("modules.json", modules);
  EXPECT_EQ(error(eight, 8), "no error");
  std::filesystem::remove(copy.path("config_sentence_transformers.json"));
  EXPECT_THAT(error(eight, 8), HasSubstr("missing, expected Dense"));  // not random numbers
}

TEST(Modules, OfASparseEncoderWithOtherSettingsAreRefused) {
  const CopiedModel copy("splade");
  const auto error = [&](const json& settings) {
    copy.write_json("config_sentence_transformers.json", settings);
    return load_error(copy);
  };
  EXPECT_EQ(error({{"max_active_dims", nullptr}, {"similarity_fn_name", "dot"}}), "no error");
  EXPECT_THAT(error({{"max_active_dims", 3}}), HasSubstr("max_active_dims: found 3"));
  EXPECT_THAT(error({{"similarity_fn_name", "cosine"}}),
              HasSubstr("similarity_fn_name: found \"cosine\", expected dot"));
}

TEST(Modules, ThatPoolLeaveAHeadItsLabels) {
  const CopiedModel copy("plain");
  copy.change("config.json", {{"id2label", {{"0", "no"}, {"1", "?"}, {"2", "entailment"}}},
                              {"label2id", nullptr}});
  const auto found = [&] {
    const Model model = Model::load(copy.path());
    return zero_shot(model, std::vector<std::string>{"a man"}, std::vector<std::string>{"a", "b"});
  };
  const std::vector<float> want = found()[0].probabilities;
  copy.write("modules.json", CopiedModel("st-mean").read("modules.json"));
  copy.write_json("1_Pooling/config.json", {{"pooling_mode", "mean"}});
  EXPECT_EQ(Model::load(copy.path()).info().task, Task::embed);
  EXPECT_EQ(found()[0].probabilities, want);
}

// sentence-transformers' length takes precedence over transformers', and that over the tokenizer's.
TEST(Lengths, ComeFromTheFirstFileThatNamesOne) {
  const CopiedModel copy("st-mean");
  const auto length = [&] { return Model::load(copy.path()).info().max_length; };
  copy.change("sentence_bert_config.json", {{"max_seq_length", 100}});
  copy.change("tokenizer_config.json", {{"model_max_length", 60}});
  EXPECT_EQ(length(), 100);
  copy.change("sentence_bert_config.json", {{"max_seq_length", 100000}});
  EXPECT_EQ(length(), 512);
  copy.change("sentence_bert_config.json", {{"max_seq_length", 1}});
  EXPECT_THAT(load_error(copy),
              HasSubstr("max_seq_length: found 1, expected an integer from 2 to"));
  copy.change("sentence_bert_config.json", {{"max_seq_length", nullptr}});
  EXPECT_EQ(length(), 60);
  std::filesystem::remove(copy.path("sentence_bert_config.json"));
  copy.write_json("sentence_distilbert_config.json", {{"max_seq_length", 70}});
  EXPECT_EQ(length(), 70);
  copy.write_json("sentence_distilbert_config.json", {{"do_lower_case", true}});
  EXPECT_EQ(length(), 60);  // the tokenizer lowercases anyway
  const std::string modules = copy.read("modules.json");
  copy.write_json("sentence_distilbert_config.json", {{"max_seq_length", 70}, {"model_args", 1}});
  std::filesystem::remove(copy.path("modules.json"));
  EXPECT_EQ(length(), 60);  // sentence-transformers reads the other file only of a module
  copy.write("modules.json", modules);
  copy.write_json("sentence_distilbert_config.json", {{"do_lower_case", true}});
  copy.change("tokenizer_config.json", {{"do_lower_case", false}});
  EXPECT_THAT(load_error(copy), HasSubstr("do_lower_case: found true, expected false"));
}

}  // namespace
}  // namespace bert
