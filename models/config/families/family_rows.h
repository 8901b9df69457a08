// SPDX-License-Identifier: Apache-2.0
//
// The settings and heads that families in families.cc and in the other tables share.
#pragma once

#include "models/config/families/families.h"

namespace bert::models {

inline constexpr SettingNames kBertSettings = {.layers = "num_hidden_layers",
                                               .hidden = "hidden_size",
                                               .heads = "num_attention_heads",
                                               .intermediate = "intermediate_size",
                                               .activation = "hidden_act",
                                               .default_activation = "gelu"};

// BERT's, with another default activation.
constexpr SettingNames with_activation(const char* field, const char* standard) {
  SettingNames names = kBertSettings;
  names.activation = field;
  names.default_activation = standard;
  return names;
}

inline constexpr SettingNames kSiluSettings = with_activation("hidden_act", "silu");

// Beside an encoder of images, the whole model's counts, not that of its part for texts.
inline constexpr Alias kTextProjectionAliases[] = {{"projection_dim", "text_projection_dim"}};

// As transformers 5 names the tensors of several families.
constexpr LayerNames projections_layer(const char* attention_norm, const char* output_norm) {
  return {.layer = "layers.{}",
          .query = ".self_attn.q_proj",
          .key = ".self_attn.k_proj",
          .value = ".self_attn.v_proj",
          .attention_output = ".self_attn.o_proj",
          .attention_norm = attention_norm,
          .intermediate = ".mlp.gate_proj",
          .output = ".mlp.down_proj",
          .output_norm = output_norm,
          .up = ".mlp.up_proj"};
}

// As in Llama, and in many language models since.
inline constexpr LayerNames kLlamaLayer =
    projections_layer(".input_layernorm", ".post_attention_layernorm");

inline constexpr HeadRow kTokenClassifier = {.suffix = "ForTokenClassification",
                                             .kind = HeadKind::token_classification,
                                             .output = "classifier"};
// As transformers' generic classes have them.
inline constexpr HeadRow kTokenScore = {
    .suffix = "ForTokenClassification", .kind = HeadKind::token_classification, .output = "score"};
inline constexpr HeadRow kClassificationScore = {.suffix = "ForSequenceClassification",
                                                 .kind = HeadKind::classification,
                                                 .reads = ReadBy::classifier_pooling,
                                                 .output = "score",
                                                 .has_bias = false};
inline constexpr HeadRow kQuestionAnswering = {
    .suffix = "ForQuestionAnswering", .kind = HeadKind::question_answering, .output = "qa_outputs"};

// The same head in another architecture.
constexpr HeadRow with_suffix(HeadRow row, const char* suffix) {
  row.suffix = suffix;
  return row;
}
// The classification head `row` with one logit, to compare choices by.
constexpr HeadRow as_multiple_choice(HeadRow row) {
  row.kind = HeadKind::multiple_choice;
  row.output = "classifier";
  return with_suffix(row, "ForMultipleChoice");
}

inline constexpr HeadRow kPooledClassifier = {.suffix = "ForSequenceClassification",
                                              .kind = HeadKind::classification,
                                              .reads = ReadBy::pooler,
                                              .output = "classifier"};
inline constexpr HeadRow kBertPredictions = {.suffix = "ForMaskedLM",
                                             .kind = HeadKind::masked_lm,
                                             .transform = "cls.predictions.transform.dense",
                                             .norm = "cls.predictions.transform.LayerNorm",
                                             .output = "cls.predictions.decoder",
                                             .bias = "cls.predictions.bias"};
inline constexpr HeadRow kRobertaHeads[] = {{.suffix = "ForSequenceClassification",
                                             .kind = HeadKind::classification,
                                             .reads = ReadBy::first,
                                             .transform = "classifier.dense",
                                             .activation = "tanh",
                                             .output = "classifier.out_proj"},
                                            {.suffix = "ForMaskedLM",
                                             .kind = HeadKind::masked_lm,
                                             .transform = "lm_head.dense",
                                             .activation = "gelu",
                                             .norm = "lm_head.layer_norm",
                                             .output = "lm_head.decoder",
                                             .bias = "lm_head.bias"},
                                            kTokenClassifier,
                                            kQuestionAnswering,
                                            as_multiple_choice(kPooledClassifier)};

}  // namespace bert::models
