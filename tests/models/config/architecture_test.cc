// SPDX-License-Identifier: Apache-2.0
//
// Directories whose config.json and weights disagree about the heads.
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using nlohmann::json;
using test::CopiedModel;
using test::error_of;
using test::load_error;
using test::load_golden;
using test::same_bits;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

// Fields of published checkpoints that are not about sizes.
std::vector<std::pair<const char*, json>> published_configs() {
  return {{"plain",  // bert-base-multilingual-cased, and what transformers 2 to 5 wrote
           json::parse(R"({"_name_or_path": "x", "directionality": "bidi", "pooler_fc_size": 768,
         "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
         "pooler_type": "first_token_transform", "classifier_dropout": 0.1, "use_cache": true,
         "gradient_checkpointing": false, "initializer_range": 0.02, "torch_dtype": "float32",
         "transformers_version": "4.9.0", "finetuning_task": "mnli", "language": "en",
         "name": "Bert", "output_past": true, "problem_type": "single_label_classification",
         "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "dtype": "float32",
         "bos_token_id": 0, "eos_token_ids": 0, "top_k": 50, "num_beams": 1, "do_sample": false,
         "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",
         "is_decoder": false, "add_cross_attention": false, "pruned_heads": {},
         "chunk_size_feed_forward": 0, "task_specific_params": {}, "xla_device": true})")},
          {"distilbert-classification",
           json::parse(R"({"qa_dropout": 0.1, "seq_classif_dropout": 0.2, "tie_weights_": true,
         "dropout": 0.1, "attention_dropout": 0.1, "sinusoidal_pos_embds": false,
         "pad_token_id": 0, "output_past": true})")},
          {"electra", json::parse(R"({"summary_activation": "gelu", "summary_last_dropout": 0.1,
         "summary_type": "first", "summary_use_proj": true, "embedding_size": 20})")},
          {"albert", json::parse(R"({"down_scale_factor": 1, "gap_size": 0, "layers_to_keep": [],
         "net_structure_type": 0, "num_memory_blocks": 0, "num_hidden_groups": 1,
         "classifier_dropout_prob": 0.1, "inner_group_num": 1, "bos_token_id": 2})")},
          {"mpnet", json::parse(R"({"relative_attention_num_buckets": 32, "eos_token_id": 2})")},
          {"eurobert-mlm", json::parse(R"({"bos_token": "<s>", "eos_token": "</s>",
         "pad_token": "</s>", "mask_token": "<|mask|>", "mask_token_id": 4, "hidden_dropout": 0.0,
         "attention_dropout": 0.0, "pretraining_tp": 1, "rope_scaling": null, "use_cache": false})")},
          {"gemma3", json::parse(R"({"final_logit_softcapping": null, "rope_scaling": null,
         "attention_dropout": 0.0, "eos_token_id": 1, "initializer_range": 0.02})")},
          {"modernbert", json::parse(R"({"layer_norm_eps": 1e-5, "cls_token_id": 2,
         "position_embedding_type": "absolute", "reference_compile": null,
         "sparse_prediction": false, "gradient_checkpointing": false})")},
          {"jina", json::parse(R"({"model_max_length": 8192, "attn_implementation": "torch"})")}};
}

TEST(Architecture, EncoderMayHaveUnusedPreTrainingHeads) {
  const std::pair<const char*, const char*> cases[] = {
      {"bert-mlm", "BertModel"},           {"pretraining", "BertModel"},
      {"next-sentence", "BertModel"},      {"distilbert-mlm", "DistilBertModel"},
      {"electra-mlm", "ElectraModel"},     {"electra-pretraining", "ElectraModel"},
      {"albert-mlm", "AlbertModel"},       {"albert-pretraining", "AlbertModel"},
      {"mpnet-mlm", "MPNetModel"},         {"xlm-roberta-mlm", "XLMRobertaModel"},
      {"camembert-mlm", "CamembertModel"}, {"rembert-mlm", "RemBertModel"}};
  for (const auto& [golden, architecture] : cases) {
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", {architecture}}});
    const Model model = Model::load(copy.path());
    expect_encoder_of(golden, model);
    EXPECT_EQ(model.info().architecture, architecture);
    EXPECT_THAT(model.info().notes, Contains(HasSubstr("tensors of other heads")));
  }
  for (const char* golden :
       {"plain", "bert-qa", "bert-tokens"}) {  // heads that must not be ignored
    const CopiedModel copy(golden);
    copy.change("config.json", {{"architectures", {"BertModel"}}});
    EXPECT_THAT(error_of([&] { Model::load(copy.path()); }), HasSubstr("unexpected tensor"));
  }
}

TEST(Architecture, AHeadMayHaveThoseOfPreTrainingBesideIt) {
  const CopiedModel copy("pretraining");
  const Output want = Model::load(copy.path()).run(kTwoInputs);
  copy.change("config.json", {{"architectures", {"BertForNextSentencePrediction"}}});
  const Model model = Model::load(copy.path());
  EXPECT_TRUE(same_bits(model.run(kTwoInputs).values, want.values));
  EXPECT_THAT(model.info().notes, Contains(HasSubstr("of other heads or parts are not evaluated")));
}

TEST(Architecture, ActivationsHaveSeveralNames) {
  const CopiedModel copy("plain");
  const auto logits = [&](const char* name) {
    copy.change("config.json", {{"hidden_act", name}});
    return Model::load(copy.path()).run(kTwoInputs).values;
  };
  EXPECT_TRUE(same_bits(logits("gelu_python"), logits("gelu")));
  EXPECT_TRUE(same_bits(logits("gelu_fast"), logits("gelu_new")));
  EXPECT_TRUE(same_bits(logits("swish"), logits("silu")));
  EXPECT_FALSE(same_bits(logits("gelu"), logits("gelu_new")));
}

TEST(Architecture, LabelsThatDifferFromTheirIdsAreNoted) {
  const CopiedModel copy("plain");
  for (const auto& [first, differs] : {std::pair{"a", false}, {"LABEL_0", true}}) {
    copy.change("config.json",
                {{"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}},
                 {"label2id", {{"LABEL_0", nullptr}, {"LABEL_1", nullptr}, {"LABEL_2", nullptr}}}});
    copy.change("config.json", {{"label2id", {{first, 0}, {"b", 1}, {"c", 2}}}});
    EXPECT_EQ(testing::Value(Model::load(copy.path()).info().notes,
                             Contains(HasSubstr("label2id does not say the same as id2label"))),
              differs);
  }
}

TEST(Architecture, LabelsThatNoHeadHasAreNotCompared) {
  const CopiedModel copy("bert-mlm"), strings("plain");
  copy.change("config.json", {{"id2label", {{"0", "a"}}}, {"label2id", {{"b", 0}}}});
  strings.change("config.json",
                 {{"label2id", {{"LABEL_0", "0"}, {"LABEL_1", "1"}, {"LABEL_2", "2"}}}});
  for (const CopiedModel* each : {&copy, &strings}) {
    EXPECT_THAT(Model::load(each->path()).info().notes,
                testing::Not(Contains(HasSubstr("label2id does not"))));
  }
}

TEST(Architecture, WithPoolingIsForEmbeddingsWhateverItsHead) {
  const CopiedModel copy("bert-mlm");
  EXPECT_EQ(Model::load(copy.path()).info().task, Task::fill_mask);
  copy.write("modules.json", test::CopiedModel("st-mean").read("modules.json"));
  copy.write_json("1_Pooling/config.json", {{"pooling_mode", "mean"}});
  const Model model = Model::load(copy.path());
  EXPECT_EQ(model.info().task, Task::embed);
  EXPECT_EQ(model.info().head_task, Task::fill_mask);
  EXPECT_EQ(model.fill_mask(std::vector<Input>{{"a [MASK]"}}, 2)[0].size(), 1u);
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
  for (const char* golden : {"encoder", "distilbert", "electra", "albert", "rembert", "xlm-roberta",
                             "camembert", "mpnet"}) {
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

// Each layer has one of its own.
TEST(Architecture, TablesOfDistancesHaveALimit) {
  const CopiedModel copy("deberta1-mlm");
  copy.change("config.json", {{"max_position_embeddings", 1 << 20}, {"num_hidden_layers", 1000}});
  EXPECT_THAT(load_error(copy), HasSubstr("max_position_embeddings: found 1048576, expected at "
                                          "most 67108 with 1000 layers"));
}

// As in the files of deberta-base.
TEST(Architecture, IsTheEncoderBesideAHeadThatNoClassReads) {
  const CopiedModel copy("deberta1-mlm");
  copy.change("config.json", {{"architectures", nullptr}});
  const Model model = Model::load(copy.path());
  EXPECT_EQ(model.info().architecture, "DebertaModel");
  EXPECT_THAT(model.info().notes, Contains(HasSubstr("of other heads or parts are not evaluated")));
}

TEST(Architecture, ANameOfThePublishersOwnIsTheEncoder) {
  const CopiedModel copy("encoder");
  copy.change("config.json", {{"architectures", {"Contriever"}}});
  const Model model = Model::load(copy.path());
  expect_encoder_of("encoder", model);
  EXPECT_EQ(model.info().architecture, "BertModel");
  EXPECT_THAT(model.info().notes,
              Contains(copy.path("config.json") +
                       ": Contriever is treated as a BertModel, going by its model_type"));
  copy.change("config.json", {{"auto_map", {{"AutoModel", "modeling_own.Contriever"}}}});
  EXPECT_THAT(load_error(copy), HasSubstr("found \"Contriever\", expected one of BertFor"));
  for (const char* golden : {"plain", "bert-mlm"}) {
    const CopiedModel with_head(golden);
    with_head.change("config.json", {{"architectures", {"Contriever"}}});
    EXPECT_THAT(load_error(with_head), HasSubstr("unexpected tensor 'c")) << golden;
  }
}

TEST(Architecture, AnAdapterIsNotPassedOver) {
  const test::CopiedModel copy("plain");
  copy.write_json("adapter_config.json", {{"peft_type", "LORA"}});
  EXPECT_EQ(test::load_error(copy), copy.path("adapter_config.json") +
                                        ": this is an adapter: name the directory of its model as "
                                        "the model, and this directory as the adapter");
}

TEST(Architecture, SettingsThatWouldChangeItAreRefused) {
  for (const auto& [golden, changes, error] :
       std::vector<std::tuple<const char*, json, const char*>>{
           {"mpnet", {{"relative_attention_num_buckets", 16}}, "found 16, expected 32"},
           {"electra-choice", {{"summary_type", "last"}}, "found \"last\", expected \"first\""},
           {"eurobert",
            {{"rope_parameters", {{"rope_type", "dynamic"}, {"rope_theta", 1000}}}},
            "rope_type: found \"dynamic\", expected \"default\""},
           {"eurobert",
            {{"rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 1}}}},
            "rope_parameters: rope_theta is 1, expected over 1"},
           {"ultrabert-published",
            {{"rope_theta", {500, 1000, 700}}},
            "rope_theta[2]: found 700, expected 500, as of other layers with a window"},
           {"xlm-roberta",
            {{"max_position_embeddings", 2}},
            "found 2, expected more than 2, the first position"},
           {"deberta",
            {{"max_relative_positions", 4}, {"position_buckets", 8}},
            "found 8, expected at least 2, and fewer than twice max_relative_positions"}}) {
    const CopiedModel copy(golden);
    copy.change("config.json", changes);
    EXPECT_THAT(load_error(copy), HasSubstr(error)) << changes;
  }
}

// Unlike one that is missing.
TEST(Architecture, ModernBertsLocalThetaMayBeNull) {
  const CopiedModel copy("modernbert");
  const std::vector<Encoding> inputs = {test::kInput};
  const auto embedding = [&](const json& local) {
    auto config = json::parse(copy.read("config.json"));
    config["global_rope_theta"] = 500;
    config["local_rope_theta"] = local;
    copy.write_json("config.json", config);
    return Model::load(copy.path()).embed(inputs).values;
  };
  EXPECT_TRUE(same_bits(embedding(nullptr), embedding(500)));
  EXPECT_FALSE(same_bits(embedding(nullptr), embedding(10000)));
}

TEST(Architecture, KeysThatNobodyKnowsAreNotedOnce) {
  const CopiedModel copy("plain");
  copy.change("config.json", {{"rotary_scale", 2}, {"alibi", true}, {"absent", nullptr}});
  EXPECT_THAT(
      Model::load(copy.path()).info().notes,
      ElementsAre(copy.path("config.json") + ": ignored unknown fields: alibi, rotary_scale"));
  for (const auto& [golden, config] : published_configs()) {
    const CopiedModel published(golden);
    published.change("config.json", config);
    EXPECT_THAT(Model::load(published.path()).info().notes, IsEmpty()) << golden;
  }
}

// What other families' files say of sinusoidal_pos_embds is not read: they store a table.
TEST(Architecture, OnlyDistilBertsPositionsMayBeComputed) {
  for (const char* golden : {"mobilebert", "plain", "relative-key"}) {
    const CopiedModel copy(golden);
    copy.change("config.json", {{"sinusoidal_pos_embds", true}});
    EXPECT_THAT(Model::load(copy.path()).info().notes,
                ElementsAre(HasSubstr("ignored unknown fields: sinusoidal_pos_embds")));
    std::string weights = copy.read("model.safetensors");
    const std::string name = "position_embeddings.weight";
    weights.replace(weights.find(name), name.size(), "position_embeddings.absent");
    copy.write("model.safetensors", weights);
    EXPECT_THAT(load_error(copy), HasSubstr("embeddings.position_embeddings.weight' is missing"))
        << golden;
  }
}

}  // namespace
}  // namespace bert
