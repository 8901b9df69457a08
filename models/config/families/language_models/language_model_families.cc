// SPDX-License-Identifier: Apache-2.0
//
// The families with the layers of language models, T5, BART and CLIP. In the order of families.cc:
// settings, layers, heads, and last the table.
#include "models/config/families/families.h"
#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"

namespace bert::models {
namespace {

using enum HeadKind;
using enum ReadBy;

constexpr SettingNames t5_settings(std::string_view classes) {
  return {.layers = "num_layers",
          .hidden = "d_model",
          .heads = "num_heads",
          .intermediate = "d_ff",
          .activation = "feed_forward_proj",
          .default_activation = classes == "MT5" ? "gated-gelu" : "relu",
          .head_size = "d_kv"};
}
constexpr SettingNames kBartSettings = {.layers = "encoder_layers",
                                        .hidden = "d_model",
                                        .heads = "encoder_attention_heads",
                                        .intermediate = "encoder_ffn_dim",
                                        .activation = "activation_function",
                                        .default_activation = "gelu"};
constexpr Alias kEuroBertAliases[] = {{"clf_pooling", "classifier_pooling"}};
constexpr Alias kNeoBertAliases[] = {{"max_length", "max_position_embeddings"}};
constexpr Default kClipDefaults[] = {{"eos_token_id", 49407},      {"hidden_size", 512},
                                     {"intermediate_size", 2048},  {"max_position_embeddings", 77},
                                     {"num_attention_heads", 8},   {"num_hidden_layers", 12},
                                     {"text_projection_dim", 512}, {"vocab_size", 49408}};

constexpr LayerNames esmc_layer() {
  LayerNames names = kLlamaLayer;
  names.query_norm = ".self_attn.q_norm";
  names.key_norm = ".self_attn.k_norm";
  return names;
}
constexpr LayerNames t5_layer(const char* intermediate, const char* up) {
  return {.layer = "encoder.block.{}",
          .query = ".layer.0.SelfAttention.q",
          .key = ".layer.0.SelfAttention.k",
          .value = ".layer.0.SelfAttention.v",
          .attention_output = ".layer.0.SelfAttention.o",
          .attention_norm = ".layer.0.layer_norm",
          .intermediate = intermediate,
          .output = ".layer.1.DenseReluDense.wo",
          .output_norm = ".layer.1.layer_norm",
          .up = up};
}
constexpr LayerNames kT5Layer = t5_layer(".layer.1.DenseReluDense.wi", "");
constexpr LayerNames kGatedT5Layer =
    t5_layer(".layer.1.DenseReluDense.wi_0", ".layer.1.DenseReluDense.wi_1");

constexpr LayerNames kBartLayer = {.layer = "encoder.layers.{}",
                                   .query = ".self_attn.q_proj",
                                   .key = ".self_attn.k_proj",
                                   .value = ".self_attn.v_proj",
                                   .attention_output = ".self_attn.out_proj",
                                   .attention_norm = ".self_attn_layer_norm",
                                   .intermediate = ".fc1",
                                   .output = ".fc2",
                                   .output_norm = ".final_layer_norm",
                                   .cross_query = ".encoder_attn.q_proj",
                                   .cross_key = ".encoder_attn.k_proj",
                                   .cross_value = ".encoder_attn.v_proj",
                                   .cross_output = ".encoder_attn.out_proj",
                                   .cross_norm = ".encoder_attn_layer_norm"};

constexpr LayerNames kClipLayer = {.layer = "encoder.layers.{}",
                                   .query = ".self_attn.q_proj",
                                   .key = ".self_attn.k_proj",
                                   .value = ".self_attn.v_proj",
                                   .attention_output = ".self_attn.out_proj",
                                   .attention_norm = ".layer_norm1",
                                   .intermediate = ".mlp.fc1",
                                   .output = ".mlp.fc2",
                                   .output_norm = ".layer_norm2"};

constexpr LayerNames kNeoBertLayer = {.layer = "transformer_encoder.{}",
                                      .attention_output = ".wo",
                                      .attention_norm = ".attention_norm",
                                      .intermediate = ".ffn.w12",
                                      .output = ".ffn.w3",
                                      .output_norm = ".ffn_norm",
                                      .qkv = ".qkv",
                                      .qkv_by_heads = true,
                                      .rotates_neighbours = true};

constexpr HeadRow kEuroBertHeads[] = {
    {.suffix = "ForSequenceClassification",
     .kind = classification,
     .reads = classifier_pooling,
     .transform = "dense",
     .activation = "gelu",
     .output = "classifier"},
    {.suffix = "ForMaskedLM", .kind = masked_lm, .output = "lm_head", .bias = "lm_head.bias"},
    kTokenClassifier};

constexpr HeadRow kEsmcHeads[] = {kRobertaHeads[0],
                                  {.suffix = "ForMaskedLM",
                                   .kind = masked_lm,
                                   .transform = "lm_head.dense",
                                   .activation = "gelu",
                                   .norm = "lm_head.layer_norm",
                                   .output = "lm_head.decoder",
                                   .bias = "lm_head.decoder.bias"},
                                  kTokenScore};

constexpr HeadRow kUltraBertHeads[] = {{.suffix = "ForSequenceClassification",
                                        .kind = classification,
                                        .reads = classifier_pooling,
                                        .output = "classifier"},
                                       {.suffix = "ForMaskedLM",
                                        .kind = masked_lm,
                                        .widen = "head.linear1",
                                        .transform = "head.linear2",
                                        .activation = "gelu_pytorch_tanh",
                                        .output = "cls"},
                                       kTokenClassifier,
                                       kQuestionAnswering};

constexpr HeadRow kNeoBertHeads[] = {
    {.suffix = "ForSequenceClassification",
     .kind = classification,
     .reads = first,
     .transform = "dense",
     .activation = "tanh",
     .output = "classifier"},
    {.suffix = "LMHead", .kind = masked_lm, .output = "decoder", .bias = "decoder.bias"}};

constexpr HeadRow kBartHeads[] = {{.suffix = "ForSequenceClassification",
                                   .kind = classification,
                                   .reads = classifier_pooling,
                                   .transform = "classification_head.dense",
                                   .activation = "tanh",
                                   .output = "classification_head.out_proj"},
                                  kQuestionAnswering,
                                  {.suffix = "ForConditionalGeneration",
                                   .kind = masked_lm,
                                   .output = "lm_head",
                                   .bias = "final_logits_bias"}};

constexpr Family euro_bert(const char* model_type, const char* classes, const char* code) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = "model.",
          .settings = kSiluSettings,
          .layer = kLlamaLayer,
          .embeddings = {.words = "embed_tokens.weight", .norm = ""},
          .has_types = false,
          .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-5},
          .heads = kEuroBertHeads,
          .code = code,
          .tied = false,
          .aliases = kEuroBertAliases,
          .pre_norm = true,
          .final_norm = "norm",
          .gate = Gate::separate,
          .position_type = PositionType::rotary,
          .read_more = read_euro_bert};
}
// With an adapter for each task (Akram et al. 2026).
constexpr Family jina_v5_nano() {
  Family family = euro_bert("jina_embeddings_v5", "JinaEmbeddingsV5", "JinaEmbeddingsV5Config");
  family.heads = {};
  family.default_adapter = "retrieval";
  return family;
}

// T5's encoder alone; the second version, also mT5's, is gated.
constexpr Family t5(const char* model_type, const char* classes, Gate gate) {
  return {.model_type = model_type,
          .classes = classes,
          .base = "EncoderModel",
          .prefix = "transformer.",
          .settings = t5_settings(classes),
          .layer = gate == Gate::none ? kT5Layer : kGatedT5Layer,
          .embeddings = {.words = "shared.weight",
                         .same_words = "encoder.embed_tokens.weight",
                         .norm = ""},
          .has_types = false,
          .norm_epsilon = {.name = "layer_norm_epsilon", .fallback = 1e-6},
          .relative_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
          .heads = {&kTokenClassifier, 1},
          .unused_head = "decoder.",
          .mark = gate == Gate::none ? "DenseReluDense.wi.weight" : "",
          .pre_norm = true,
          .final_norm = "encoder.final_layer_norm",
          .gate = gate,
          .position_type = PositionType::relative_bias,
          .read_more = read_t5};
}

// Beside the part for images, or by itself with or without its projection.
constexpr Family clip(const char* model_type, const char* classes, const char* base,
                      const char* projection) {
  const bool is_whole = !std::string_view(model_type).ends_with("_text_model");
  return {.model_type = model_type,
          .classes = classes,
          .base = base,
          .prefix = "text_model.",
          .settings = with_activation("hidden_act", "quick_gelu"),
          .layer = kClipLayer,
          .embeddings = {.words = "embeddings.token_embedding.weight",
                         .norm = "",
                         .positions = "embeddings.position_embedding.weight"},
          .text_projection = projection,
          .has_types = false,
          .norm_epsilon = {.fallback = 1e-5},
          .mark = *projection && !is_whole ? "text_projection.weight" : "",
          .aliases = kTextProjectionAliases,
          .defaults = kClipDefaults,
          .nested = is_whole ? "text_config" : "",
          .pre_norm = true,
          .final_norm = "final_layer_norm",
          .read_more = read_clip};
}

constexpr Family kLanguageModelFamilies[] = {
    euro_bert("eurobert", "EuroBert", "EuroBertConfig"),
    jina_v5_nano(),
    {.model_type = "ultrabert",
     .classes = "Ultrabert",
     .prefix = "model.",
     .published_prefix = "ultrabert.",
     .settings = kSiluSettings,
     .layer = kLlamaLayer,
     .embeddings = {.words = "embed_tokens.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-6},
     .heads = kUltraBertHeads,
     .tied = false,
     .pre_norm = true,
     .final_norm = "norm",
     .gate = Gate::separate,
     .position_type = PositionType::rotary,
     .read_more = read_ultra_bert},
    {.model_type = "neobert",
     .classes = "NeoBERT",
     .base = "",
     .prefix = "model.",
     .settings = kSiluSettings,
     .layer = kNeoBertLayer,
     .embeddings = {.words = "encoder.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "norm_eps", .fallback = 1e-6},
     .heads = kNeoBertHeads,
     .code = "NeoBERTConfig",
     .tied = false,
     .aliases = kNeoBertAliases,
     .pre_norm = true,
     .final_norm = "layer_norm",
     .gate = Gate::first_half,
     .position_type = PositionType::rotary,
     .read_more = read_neo_bert},
    {.model_type = "esmc",
     .classes = "Esmc",
     .prefix = "esmc.",
     .settings = kSiluSettings,
     .layer = esmc_layer(),
     .embeddings = {.words = "embed_tokens.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "", .fallback = 1e-5},
     .heads = kEsmcHeads,
     .tied = false,
     .pre_norm = true,
     .final_norm = "norm",
     .gate = Gate::separate,
     .position_type = PositionType::rotary,
     .read_more = read_esmc},
    t5("t5", "T5", Gate::none),
    t5("t5", "T5", Gate::separate),
    t5("mt5", "MT5", Gate::separate),
    {.model_type = "bart",
     .classes = "Bart",
     .prefix = "model.",
     .settings = kBartSettings,
     .layer = kBartLayer,
     .embeddings = {.words = "shared.weight",
                    .same_words = "encoder.embed_tokens.weight",
                    .norm = "encoder.layernorm_embedding",
                    .positions = "encoder.embed_positions.weight"},
     .decoder = {.layer = "decoder.layers.{}",
                 .positions = "decoder.embed_positions.weight",
                 .norm = "decoder.layernorm_embedding",
                 .same_words = "decoder.embed_tokens.weight"},
     .has_types = false,
     .norm_epsilon = {.name = "", .fallback = 1e-5},
     .heads = kBartHeads,
     .read_more = read_bart},
    clip("clip", "CLIP", "Model", "text_projection"),
    clip("clip_text_model", "CLIPText", "ModelWithProjection", "text_projection"),
    clip("clip_text_model", "CLIPText", "Model", ""),
    clip("metaclip_2", "MetaClip2", "Model", "text_projection"),
    clip("metaclip_2_text_model", "MetaClip2Text", "ModelWithProjection", "text_projection"),
    clip("metaclip_2_text_model", "MetaClip2Text", "Model", ""),
};

}  // namespace

std::span<const Family> language_model_families() { return kLanguageModelFamilies; }

}  // namespace bert::models
