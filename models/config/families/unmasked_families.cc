// SPDX-License-Identifier: Apache-2.0
//
// The families with the layers of language models, without their mask. In the order of families.cc:
// settings, layers, heads, and last the table.
#include "models/config/families/families.h"
#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"

namespace bert::models {
namespace {

using enum HeadKind;
using enum ReadBy;

constexpr SettingNames kGemma3Settings = with_activation("hidden_activation", "gelu_pytorch_tanh");
constexpr Alias kEuroBertAliases[] = {{"clf_pooling", "classifier_pooling"}};

constexpr LayerNames kEuroBertLayer =
    projections_layer(".input_layernorm", ".post_attention_layernorm");
constexpr LayerNames gemma3_layer() {
  LayerNames names = projections_layer(".input_layernorm", ".pre_feedforward_layernorm");
  names.query_norm = ".self_attn.q_norm";
  names.key_norm = ".self_attn.k_norm";
  names.norms_heads = true;
  names.attention_post_norm = ".post_attention_layernorm";
  names.output_post_norm = ".post_feedforward_layernorm";
  return names;
}

constexpr HeadRow kEuroBertHeads[] = {
    {.suffix = "ForSequenceClassification",
     .kind = classification,
     .reads = classifier_pooling,
     .transform = "dense",
     .activation = "gelu",
     .output = "classifier"},
    {.suffix = "ForMaskedLM", .kind = masked_lm, .output = "lm_head", .bias = "lm_head.bias"},
    kTokenClassifier};

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

constexpr Family kUnmaskedFamilies[] = {
    {.model_type = "eurobert",
     .classes = "EuroBert",
     .prefix = "model.",
     .settings = kSiluSettings,
     .layer = kEuroBertLayer,
     .embeddings = {.words = "embed_tokens.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-5},
     .heads = kEuroBertHeads,
     .code = "EuroBertConfig",
     .tied = false,
     .aliases = kEuroBertAliases,
     .pre_norm = true,
     .final_norm = "norm",
     .gate = Gate::separate,
     .position_type = PositionType::rotary,
     .read_more = read_euro_bert},
    {.model_type = "ultrabert",
     .classes = "Ultrabert",
     .prefix = "model.",
     .published_prefix = "ultrabert.",
     .settings = kSiluSettings,
     .layer = kEuroBertLayer,
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
    {.model_type = "gemma3_text",
     .classes = "Gemma3Text",
     .prefix = "model.",
     .settings = kGemma3Settings,
     .layer = gemma3_layer(),
     .embeddings = {.words = "embed_tokens.weight", .norm = ""},
     .has_types = false,
     .norm_epsilon = {.name = "rms_norm_eps", .fallback = 1e-6},
     .pre_norm = true,
     .final_norm = "norm",
     .gate = Gate::separate,
     .position_type = PositionType::rotary,
     .read_more = read_gemma3},
};

}  // namespace

std::span<const Family> unmasked_families() { return kUnmaskedFamilies; }

}  // namespace bert::models
