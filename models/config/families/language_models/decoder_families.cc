// SPDX-License-Identifier: Apache-2.0
//
// The families of language models that embedding models and rerankers are made of: decoders, with
// their mask or without it.
#include "models/config/families/families.h"
#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"

namespace bert::models {
namespace {

constexpr SettingNames with_head_size(SettingNames names, bool may_lack_it = false) {
  names.head_size = "head_dim";
  names.may_lack_head_size = may_lack_it;
  return names;
}
constexpr SettingNames kGemma3Settings =
    with_head_size(with_activation("hidden_activation", "gelu_pytorch_tanh"));
constexpr Default kGemma3Defaults[] = {{"head_dim", 256}, {"num_key_value_heads", 4}};
constexpr Default kMinistral3Defaults[] = {{"head_dim", 128}, {"num_key_value_heads", 8}};

constexpr LayerNames with_head_norms(LayerNames names) {
  names.query_norm = ".self_attn.q_norm";
  names.key_norm = ".self_attn.k_norm";
  names.norms_heads = true;
  return names;
}
constexpr LayerNames gemma3_layer() {
  LayerNames names =
      with_head_norms(projections_layer(".input_layernorm", ".pre_feedforward_layernorm"));
  names.attention_post_norm = ".post_attention_layernorm";
  names.output_post_norm = ".post_feedforward_layernorm";
  return names;
}
constexpr LayerNames embedding_gemma2_layer() {
  LayerNames names = gemma3_layer();
  names.norms_values = true;
  return names;
}

constexpr HeadRow kDecoderHeads[] = {kClassificationScore, kTokenScore};

constexpr Family decoder(const char* model_type, const char* classes, SettingNames settings,
                         void (*read_more)(const JsonFile&, Config&)) {
  return {.model_type = model_type,
          .classes = classes,
          .other_base = "ForCausalLM",
          .prefix = "model.",
          .settings = settings,
          .layer = kLlamaLayer,
          .embeddings = {.words = "embed_tokens.weight", .norm = ""},
          .has_types = false,
          .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-6},
          .heads = kDecoderHeads,
          .unused_head = "lm_head.",
          .tied = false,
          .pre_norm = true,
          .final_norm = "norm",
          .gate = Gate::separate,
          .position_type = PositionType::rotary,
          .read_more = read_more};
}

constexpr Family ministral3() {
  Family family = decoder("ministral3", "Ministral3", with_head_size(kSiluSettings), read_mistral);
  family.norm_epsilon.fallback = 1e-5;
  family.defaults = kMinistral3Defaults;
  return family;
}

constexpr Family qwen3(const char* model_type, const char* classes,
                       void (*read_more)(const JsonFile&, Config&)) {
  Family family = decoder(model_type, classes, with_head_size(kSiluSettings), read_more);
  family.layer = with_head_norms(kLlamaLayer);
  return family;
}

// Of code on the hub, for embeddings.
constexpr Family by_code(Family family, const char* code) {
  family.code = code;
  family.heads = {};
  return family;
}

// Without a mask, and with a dense layer after the last one.
constexpr Family voyage() {
  Family family = by_code(qwen3("qwen3", "Qwen3", read_voyage), "Qwen3BidirectionalModel");
  family.needs_code = true;
  family.output_projection = "linear";
  return family;
}

constexpr Family perplexity() {
  Family family = by_code(qwen3("bidirectional_pplx_qwen3", "PPLXQwen3", read_qwen3_without_mask),
                          "PPLXQwen3Config");
  family.other_base = "";
  return family;
}

constexpr Family llama_without_mask() {
  Family family = by_code(decoder("llama_bidirec", "LlamaBidirectional",
                                  with_head_size(kSiluSettings, true), read_llama_without_mask),
                          "LlamaBidirectionalConfig");
  family.other_base = "";
  family.heads = {kDecoderHeads, 1};
  return family;
}

constexpr Family gemma3() {
  Family family = decoder("gemma3_text", "Gemma3Text", kGemma3Settings, read_gemma3);
  family.other_class = "Gemma3ForCausalLM";
  family.layer = gemma3_layer();
  family.heads = {kDecoderHeads, 1};
  family.tied = true;
  family.defaults = kGemma3Defaults;
  return family;
}

// By itself, or as the part for texts of the model that embeds images and sounds, too.
constexpr Family embedding_gemma2(const char* model_type, const char* classes, const char* prefix,
                                  const char* nested) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = prefix,
          .settings = kGemma3Settings,
          .layer = embedding_gemma2_layer(),
          .embeddings = {.words = "embed_tokens.weight", .norm = ""},
          .output_projection = "embedding_projection",
          .has_types = false,
          .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-6},
          .nested = nested,
          .pre_norm = true,
          .final_norm = "norm",
          .gate = Gate::separate,
          .position_type = PositionType::rotary,
          .read_more = read_embedding_gemma2};
}

// Before EuroBERT's row of the same model_type, whose layers have no norms of heads.
constexpr Family jina_v5() {
  Family family = by_code(qwen3("jina_embeddings_v5", "JinaEmbeddingsV5", read_jina_v5_decoder),
                          "JinaEmbeddingsV5Config");
  family.mark = ".self_attn.q_norm.weight";
  family.default_adapter = "retrieval";
  return family;
}

constexpr Family kDecoderFamilies[] = {
    decoder("llama", "Llama", with_head_size(kSiluSettings, true), read_llama),
    llama_without_mask(),
    decoder("mistral", "Mistral", with_head_size(kSiluSettings, true), read_mistral),
    ministral3(),
    decoder("qwen2", "Qwen2", kSiluSettings, read_qwen2),
    voyage(),
    qwen3("qwen3", "Qwen3", read_qwen3),
    perplexity(),
    jina_v5(),
    gemma3(),
    embedding_gemma2("embedding_gemma2", "EmbeddingGemma2", "language_model.", "text_config"),
    embedding_gemma2("embedding_gemma2_text", "EmbeddingGemma2Text", "model.", ""),
};

}  // namespace

std::span<const Family> decoder_families() { return kDecoderFamilies; }

}  // namespace bert::models
