// SPDX-License-Identifier: Apache-2.0
//
// Most families whose layers differ from BERT's: gated feed-forward networks, and positions without
// a table. In the order of families.cc: settings, layers, heads, and last the table.
#include <string_view>

#include "models/config/families/families.h"
#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"

namespace bert::models {
namespace {

using enum HeadKind;
using enum ReadBy;

constexpr SettingNames kModernBertSettings = with_activation("hidden_activation", "gelu");
constexpr SettingNames privacy_filter_settings() {
  SettingNames names = with_activation("", "quick_gelu");  // as no file says
  names.head_size = "head_dim";
  return names;
}
constexpr Alias kNomicBertAliases[] = {{"n_embd", "hidden_size"},
                                       {"n_head", "num_attention_heads"},
                                       {"n_layer", "num_hidden_layers"},
                                       {"n_inner", "intermediate_size"},
                                       {"n_positions", "max_position_embeddings"},
                                       {"layer_norm_epsilon", "layer_norm_eps"},
                                       {"activation_function", "hidden_act"}};

constexpr LayerNames kModernBertLayer = {.layer = "layers.{}",
                                         .attention_output = ".attn.Wo",
                                         .attention_norm = ".attn_norm",
                                         .intermediate = ".mlp.Wi",
                                         .output = ".mlp.Wo",
                                         .output_norm = ".mlp_norm",
                                         .qkv = ".attn.Wqkv"};
// As in the published code.
constexpr LayerNames kNomicBertLayer = {.layer = "encoder.layers.{}",
                                        .attention_output = ".attn.out_proj",
                                        .attention_norm = ".norm1",
                                        .intermediate = ".mlp.fc12",
                                        .output = ".mlp.fc2",
                                        .output_norm = ".norm2",
                                        .qkv = ".attn.Wqkv",
                                        .up = ".mlp.fc11"};
// NomicBert's and GTE's.
constexpr LayerNames kProjectionsLayer =
    projections_layer(".post_attention_layernorm", ".post_mlp_layernorm");
constexpr LayerNames kGteLayer = {.layer = "encoder.layer.{}",
                                  .query = ".attention.q_proj",
                                  .key = ".attention.k_proj",
                                  .value = ".attention.v_proj",
                                  .attention_output = ".attention.o_proj",
                                  .attention_norm = ".attn_ln",
                                  .intermediate = ".mlp.up_gate_proj",
                                  .output = ".mlp.down_proj",
                                  .output_norm = ".mlp_ln",
                                  .qkv = ".attention.qkv_proj"};
constexpr LayerNames kJinaBertLayer = {.layer = "encoder.layer.{}",
                                       .query = ".attention.self.query",
                                       .key = ".attention.self.key",
                                       .value = ".attention.self.value",
                                       .attention_output = ".attention.output.dense",
                                       .attention_norm = ".attention.output.LayerNorm",
                                       .intermediate = ".mlp.gated_layers",
                                       .output = ".mlp.wo",
                                       .output_norm = ".mlp.layernorm"};
constexpr LayerNames kNormedJinaBertLayer = {.layer = "encoder.layer.{}",
                                             .query = ".attention.self.query",
                                             .key = ".attention.self.key",
                                             .value = ".attention.self.value",
                                             .attention_output = ".attention.output.dense",
                                             .attention_norm = ".attention.output.LayerNorm",
                                             .intermediate = ".mlp.up_gated_layer",
                                             .output = ".mlp.down_layer",
                                             .output_norm = ".layer_norm_2",
                                             .query_norm = ".attention.self.layer_norm_q",
                                             .key_norm = ".attention.self.layer_norm_k",
                                             .residual_norm = ".layer_norm_1"};
// Jina's XLM-RoBERTa, whose code follows flash-attention's.
constexpr LayerNames kMixerLayer = {.layer = "encoder.layers.{}",
                                    .attention_output = ".mixer.out_proj",
                                    .attention_norm = ".norm1",
                                    .intermediate = ".mlp.fc1",
                                    .output = ".mlp.fc2",
                                    .output_norm = ".norm2",
                                    .qkv = ".mixer.Wqkv"};
constexpr LayerNames privacy_filter_layer() {
  LayerNames names = projections_layer(".input_layernorm", ".post_attention_layernorm");
  names.rotates_neighbours = true;
  names.sinks = ".self_attn.sinks";
  names.experts = {.router = ".mlp.router",
                   .in = ".mlp.experts.gate_up_proj",
                   .out = ".mlp.experts.down_proj",
                   .in_bias = ".mlp.experts.gate_up_proj_bias",
                   .out_bias = ".mlp.experts.down_proj_bias",
                   .is_stacked = true};
  return names;
}
constexpr LayerNames kDebertaLayer = {.layer = "encoder.layer.{}",
                                      .query = ".attention.self.query_proj",
                                      .key = ".attention.self.key_proj",
                                      .value = ".attention.self.value_proj",
                                      .attention_output = ".attention.output.dense",
                                      .attention_norm = ".attention.output.LayerNorm",
                                      .intermediate = ".intermediate.dense",
                                      .output = ".output.dense",
                                      .output_norm = ".output.LayerNorm",
                                      .distance_key = ".attention.self.pos_key_proj",
                                      .distance_query = ".attention.self.pos_query_proj"};
constexpr LayerNames first_deberta_layer() {
  LayerNames names = kDebertaLayer;
  names.query = names.key = names.value = "";
  names.qkv = ".attention.self.in_proj";
  names.qkv_by_heads = true;
  names.query_bias = ".attention.self.q_bias";
  names.value_bias = ".attention.self.v_bias";
  names.distance_key = ".attention.self.pos_proj";
  names.distance_query = ".attention.self.pos_q_proj";
  return names;
}

constexpr HeadRow modern_bert_head(const char* suffix, HeadKind kind, ReadBy reads) {
  return {.suffix = suffix,
          .kind = kind,
          .reads = reads,
          .transform = "head.dense",
          .activation = "gelu",
          .activation_key = "classifier_activation",
          .norm = "head.norm",
          .output = kind == masked_lm ? "decoder" : "classifier",
          .bias = kind == masked_lm ? "decoder.bias" : ""};
}
constexpr HeadRow kModernBertClassifier =
    modern_bert_head("ForSequenceClassification", classification, classifier_pooling);
constexpr HeadRow kModernBertHeads[] = {
    kModernBertClassifier, modern_bert_head("ForMaskedLM", masked_lm, every),
    modern_bert_head("ForTokenClassification", token_classification, every),
    modern_bert_head("ForQuestionAnswering", question_answering, every),
    as_multiple_choice(kModernBertClassifier)};

constexpr HeadRow kNomicBertPredictions = {.suffix = "ForMaskedLM",
                                           .kind = masked_lm,
                                           .transform = "cls.predictions.transform.dense",
                                           .norm = "cls.predictions.transform.layer_norm",
                                           .output = "cls.predictions.decoder",
                                           .bias = "cls.predictions.bias"};
constexpr HeadRow kNomicBertHeads[] = {kPooledClassifier, kNomicBertPredictions,
                                       with_suffix(kNomicBertPredictions, "ForPreTraining"),
                                       kTokenClassifier};

constexpr HeadRow gte_predictions(const char* activation, const char* norm) {
  return {.suffix = "ForMaskedLM",
          .kind = masked_lm,
          .transform = "lm_head.dense",
          .activation = activation,
          .norm = norm,
          .output = "lm_head.decoder",
          .bias = "lm_head.decoder.bias"};
}
constexpr HeadRow kGteHeads[] = {kPooledClassifier, gte_predictions("", "lm_head.norm"),
                                 kTokenClassifier, kQuestionAnswering,
                                 as_multiple_choice(kPooledClassifier)};
// transformers' class has one activation for all; the published code, the model's own.
constexpr HeadRow kGteClassHeads[] = {kGteHeads[0], gte_predictions("gelu", "lm_head.norm"),
                                      kGteHeads[2], kGteHeads[3], kGteHeads[4]};
constexpr HeadRow kRenamedGteHeads[] = {
    kPooledClassifier, gte_predictions("gelu", "lm_head.layer_norm"), kTokenClassifier};

constexpr HeadRow kJinaBertHeads[] = {kPooledClassifier, kBertPredictions, kTokenClassifier,
                                      kQuestionAnswering, as_multiple_choice(kPooledClassifier)};

constexpr HeadRow kDebertaClassifier = {.suffix = "ForSequenceClassification",
                                        .kind = classification,
                                        .reads = first,
                                        .transform = "pooler.dense",
                                        .activation = "gelu",
                                        .activation_key = "pooler_hidden_act",
                                        .output = "classifier"};
constexpr HeadRow kDebertaHeads[] = {kDebertaClassifier, kBertPredictions, kTokenClassifier,
                                     kQuestionAnswering, as_multiple_choice(kDebertaClassifier)};
constexpr HeadRow kLmHeadDebertaHeads[] = {kDebertaClassifier,
                                           {.suffix = "ForMaskedLM",
                                            .kind = masked_lm,
                                            .transform = "lm_predictions.lm_head.dense",
                                            .norm = "lm_predictions.lm_head.LayerNorm",
                                            .output = "lm_predictions.lm_head.decoder",
                                            .bias = "lm_predictions.lm_head.bias"},
                                           kTokenClassifier,
                                           kQuestionAnswering,
                                           as_multiple_choice(kDebertaClassifier)};

// Without gates, like layers with experts.
constexpr LayerNames plain_nomic_layer() {
  LayerNames names = kNomicBertLayer;
  names.intermediate = ".mlp.fc1";
  names.up = "";
  names.experts = {.router = ".mlp.router.layer",
                   .in = ".mlp.experts.mlp.w1",
                   .out = ".mlp.experts.mlp.w2",
                   .bias = ".mlp.experts.bias"};
  return names;
}
constexpr Family nomic_bert(const LayerNames& layer, const char* norm, const char* mark) {
  return {.model_type = "nomic_bert",
          .classes = "NomicBert",
          .prefix = "nomic_bert.",
          .published_prefix = "bert.",
          .settings = kSiluSettings,
          .layer = layer,
          .embeddings = {.norm = norm},
          .pooler = "pooler.dense",
          .heads = kNomicBertHeads,
          .code = "NomicBertConfig",
          .mark = mark,
          .aliases = kNomicBertAliases,
          .gate = *layer.up ? Gate::separate : Gate::none,
          .position_type = PositionType::rotary,
          .read_more = read_nomic_bert};
}
// One code, published twice under different names.
constexpr Family gte(const char* model_type, const char* classes, const char* prefix,
                     const char* code) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = prefix,
          .settings = kBertSettings,
          .layer = kGteLayer,
          .pooler = "pooler.dense",
          .default_types = 1,
          .heads = model_type == std::string_view("gte") ? kGteClassHeads : kGteHeads,
          .code = code,
          .gate = Gate::second_half,
          .position_type = PositionType::rotary,
          .read_more = read_gte};
}
constexpr Family renamed_gte() {
  Family family = gte("gte", "Gte", "gte.", "GteConfig");
  family.layer = kProjectionsLayer;
  family.heads = kRenamedGteHeads;
  family.mark = ".post_attention_layernorm.weight";
  family.gate = Gate::separate;
  return family;
}
constexpr Family jina_bert(const LayerNames& layer, Gate gate, const char* mark) {
  return {.model_type = "bert",
          .classes = "JinaBert",
          .prefix = "bert.",
          .settings = kBertSettings,
          .layer = layer,
          .pooler = "pooler.dense",
          .heads = kJinaBertHeads,
          .code = "JinaBertConfig",
          .needs_code = true,
          .mark = mark,
          .gate = gate,
          .position_type = PositionType::alibi,
          .read_more = read_jina_bert};
}
// heads: how many of RoBERTa's, from the first on.
constexpr Family jina_roberta(const char* model_type, const char* classes, size_t heads) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = "roberta.",
          .settings = kBertSettings,
          .layer = kMixerLayer,
          .embeddings = {.norm = "emb_ln"},
          .pooler = "pooler.dense",
          .default_types = 1,
          .norm_epsilon = {.fallback = 1e-5},
          .heads = std::span(kRobertaHeads).first(heads),
          .position_type = PositionType::rotary,
          .read_more = read_jina_roberta};
}
constexpr Family published_jina_roberta(PositionType position_type, const char* mark) {
  Family family = jina_roberta("xlm-roberta", "XLMRoberta", 2);
  family.code = "XLMRobertaFlashConfig";
  family.needs_code = true;
  family.mark = mark;
  family.position_type = position_type;
  if (position_type == PositionType::absolute) {
    family.positions = Family::Positions::after_pad_token;
  }
  return family;
}
constexpr Family deberta(std::span<const HeadRow> heads, const char* mark) {
  return {.model_type = "deberta-v2",
          .classes = "DebertaV2",
          .prefix = "deberta.",
          .settings = kBertSettings,
          .layer = kDebertaLayer,
          .default_types = 0,
          .norm_epsilon = {.fallback = 1e-7},
          .heads = heads,
          .unused_head = "mask_predictions.",
          .mark = mark,
          .position_type = PositionType::disentangled,
          .read_more = read_deberta};
}
constexpr Family first_deberta(std::span<const HeadRow> heads, const char* mark) {
  Family family = deberta(heads.first(4), mark);
  family.model_type = "deberta";
  family.classes = "Deberta";
  family.layer = first_deberta_layer();
  return family;
}

// Among rows of one model_type, those with a mark come first.
constexpr Family kNewerFamilies[] = {
    {.model_type = "modernbert",
     .classes = "ModernBert",
     .prefix = "model.",
     .settings = kModernBertSettings,
     .layer = kModernBertLayer,
     .embeddings = {.words = "embeddings.tok_embeddings.weight", .norm = "embeddings.norm"},
     .has_types = false,
     .norm_epsilon = {.name = "norm_eps", .fallback = 1e-5},
     .heads = kModernBertHeads,
     .pre_norm = true,
     .final_norm = "final_norm",
     .gate = Gate::first_half,
     .position_type = PositionType::rotary,
     .read_more = read_modern_bert},
    nomic_bert(kProjectionsLayer, "embeddings.LayerNorm", ".post_attention_layernorm.weight"),
    nomic_bert(plain_nomic_layer(), "emb_ln", "layers.0.mlp.fc1.weight"),
    nomic_bert(kNomicBertLayer, "emb_ln", ""),
    gte("new", "New", "new.", "NewConfig"),
    renamed_gte(),
    gte("gte", "Gte", "gte.", "GteConfig"),
    jina_bert(kNormedJinaBertLayer, Gate::second_half, ".attention.self.layer_norm_q.weight"),
    jina_bert(kJinaBertLayer, Gate::first_half, ""),
    published_jina_roberta(PositionType::absolute, "embeddings.position_embeddings.weight"),
    published_jina_roberta(PositionType::rotary, ""),
    jina_roberta("jina_embeddings_v3", "JinaEmbeddingsV3", 4),
    deberta(kLmHeadDebertaHeads, "lm_predictions.lm_head.dense.weight"),
    deberta(kDebertaHeads, ""),
    first_deberta(kLmHeadDebertaHeads, "lm_predictions.lm_head.dense.weight"),
    first_deberta(kDebertaHeads, ""),
    {.model_type = "openai_privacy_filter",
     .classes = "OpenAIPrivacyFilter",
     .prefix = "model.",
     .settings = privacy_filter_settings(),
     .layer = privacy_filter_layer(),
     .embeddings = {.words = "embed_tokens.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-5},
     .heads = {&kTokenScore, 1},
     .pre_norm = true,
     .final_norm = "norm",
     .position_type = PositionType::rotary,
     .read_more = read_privacy_filter},
};

}  // namespace

std::span<const Family> newer_families() { return kNewerFamilies; }

}  // namespace bert::models
