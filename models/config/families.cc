// SPDX-License-Identifier: Apache-2.0
#include "models/config/families.h"

namespace bert::models {
namespace {

using enum HeadKind;
using enum ReadBy;

constexpr SettingNames kBertSettings = {"num_hidden_layers", "hidden_size", "num_attention_heads",
                                        "intermediate_size", "hidden_act",  "gelu"};
constexpr SettingNames kAlbertSettings = {"num_hidden_layers", "hidden_size", "num_attention_heads",
                                          "intermediate_size", "hidden_act",  "gelu_new"};
constexpr SettingNames kDistilBertSettings = {"n_layers",   "dim",        "n_heads",
                                              "hidden_dim", "activation", "gelu"};

constexpr LayerNames kBertLayer = {
    "encoder.layer.{}",      ".attention.self.query",   ".attention.self.key",
    ".attention.self.value", ".attention.output.dense", ".attention.output.LayerNorm",
    ".intermediate.dense",   ".output.dense",           ".output.LayerNorm"};
constexpr LayerNames kDistilBertLayer = {
    "transformer.layer.{}", ".attention.q_lin", ".attention.k_lin", ".attention.v_lin",
    ".attention.out_lin",   ".sa_layer_norm",   ".ffn.lin1",        ".ffn.lin2",
    ".output_layer_norm"};
constexpr LayerNames kAlbertLayer = {"encoder.albert_layer_groups.{}.albert_layers.{}",
                                     ".attention.query",
                                     ".attention.key",
                                     ".attention.value",
                                     ".attention.dense",
                                     ".attention.LayerNorm",
                                     ".ffn",
                                     ".ffn_output",
                                     ".full_layer_layer_norm"};
constexpr LayerNames kMpnetLayer = {
    "encoder.layer.{}",    ".attention.attn.q", ".attention.attn.k",
    ".attention.attn.v",   ".attention.attn.o", ".attention.LayerNorm",
    ".intermediate.dense", ".output.dense",     ".output.LayerNorm"};

constexpr HeadRow kTokens = {
    .suffix = "ForTokenClassification", .kind = token_classification, .output = "classifier"};
constexpr HeadRow kAnswers = {
    .suffix = "ForQuestionAnswering", .kind = question_answering, .output = "qa_outputs"};

// A row under another architecture's name.
constexpr HeadRow of(const char* suffix, HeadRow row) {
  row.suffix = suffix;
  return row;
}
// The same with one answer an input, which is one of several choices.
constexpr HeadRow choice(HeadRow row) {
  row.kind = multiple_choice;
  row.output = "classifier";
  return of("ForMultipleChoice", row);
}

constexpr HeadRow kPooled = {.suffix = "ForSequenceClassification",
                             .kind = classification,
                             .reads = pooler,
                             .output = "classifier"};
constexpr HeadRow kNextSentence = {.suffix = "ForNextSentencePrediction",
                                   .kind = next_sentence,
                                   .reads = pooler,
                                   .output = "cls.seq_relationship"};
constexpr HeadRow kBertPredictions = {.suffix = "ForMaskedLM",
                                      .kind = masked_lm,
                                      .transform = "cls.predictions.transform.dense",
                                      .norm = "cls.predictions.transform.LayerNorm",
                                      .output = "cls.predictions.decoder",
                                      .bias = "cls.predictions.bias"};
constexpr HeadRow kBertHeads[] = {kPooled,
                                  kNextSentence,
                                  kBertPredictions,
                                  of("ForPreTraining", kBertPredictions),
                                  of("ForPreTraining", kNextSentence),
                                  kTokens,
                                  kAnswers,
                                  choice(kPooled)};

constexpr HeadRow kDistilBertClasses = {.suffix = "ForSequenceClassification",
                                        .kind = classification,
                                        .reads = first,
                                        .transform = "pre_classifier",
                                        .activation = "relu",
                                        .output = "classifier"};
constexpr HeadRow kDistilBertHeads[] = {kDistilBertClasses,
                                        {.suffix = "ForMaskedLM",
                                         .kind = masked_lm,
                                         .transform = "vocab_transform",
                                         .norm = "vocab_layer_norm",
                                         .output = "vocab_projector",
                                         .bias = "vocab_projector.bias"},
                                        kTokens,
                                        kAnswers,
                                        choice(kDistilBertClasses)};

constexpr HeadRow kElectraHeads[] = {
    {.suffix = "ForSequenceClassification",
     .kind = classification,
     .reads = first,
     .transform = "classifier.dense",
     .activation = "gelu",
     .output = "classifier.out_proj"},
    {.suffix = "ForPreTraining",
     .kind = replaced_token,
     .transform = "discriminator_predictions.dense",
     .output = "discriminator_predictions.dense_prediction"},
    {.suffix = "ForMaskedLM",
     .kind = masked_lm,
     .transform = "generator_predictions.dense",
     .activation = "gelu",
     .norm = "generator_predictions.LayerNorm",
     .output = "generator_lm_head",
     .bias = "generator_lm_head.bias"},
    kTokens,
    kAnswers,
    choice({.reads = first, .transform = "sequence_summary.summary", .activation = "gelu"})};

constexpr HeadRow kAlbertPredictions = {.suffix = "ForMaskedLM",
                                        .kind = masked_lm,
                                        .transform = "predictions.dense",
                                        .norm = "predictions.LayerNorm",
                                        .output = "predictions.decoder",
                                        .bias = "predictions.bias"};
constexpr HeadRow kAlbertHeads[] = {kPooled,
                                    kAlbertPredictions,
                                    of("ForPreTraining", kAlbertPredictions),
                                    {.suffix = "ForPreTraining",
                                     .kind = sentence_order,
                                     .reads = pooler,
                                     .output = "sop_classifier.classifier"},
                                    kTokens,
                                    kAnswers,
                                    choice(kPooled)};

constexpr HeadRow kRobertaHeads[] = {{.suffix = "ForSequenceClassification",
                                      .kind = classification,
                                      .reads = first,
                                      .transform = "classifier.dense",
                                      .activation = "tanh",
                                      .output = "classifier.out_proj"},
                                     {.suffix = "ForMaskedLM",
                                      .kind = masked_lm,
                                      .transform = "lm_head.dense",
                                      .activation = "gelu",
                                      .norm = "lm_head.layer_norm",
                                      .output = "lm_head.decoder",
                                      .bias = "lm_head.bias"},
                                     kTokens,
                                     kAnswers,
                                     choice(kPooled)};

constexpr Family roberta(const char* model_type, const char* classes) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = "roberta.",
          .settings = kBertSettings,
          .layer = kBertLayer,
          .pooler = "pooler.dense",
          .positions = Family::Positions::after_pad_token,
          .heads = kRobertaHeads};
}

constexpr Family kFamilies[] = {
    {.model_type = "bert",
     .classes = "Bert",
     .prefix = "bert.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .pooler = "pooler.dense",
     .relative_keys = true,
     .heads = kBertHeads},
    {.model_type = "distilbert",
     .classes = "DistilBert",
     .prefix = "distilbert.",
     .settings = kDistilBertSettings,
     .layer = kDistilBertLayer,
     .has_types = false,
     .has_norm_epsilon = false,
     .heads = kDistilBertHeads},
    {.model_type = "electra",
     .classes = "Electra",
     .prefix = "electra.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .projection = "embeddings_project",
     .heads = kElectraHeads},
    {.model_type = "albert",
     .classes = "Albert",
     .prefix = "albert.",
     .settings = kAlbertSettings,
     .layer = kAlbertLayer,
     .projection = "encoder.embedding_hidden_mapping_in",
     .always_projected = true,
     .pooler = "pooler",
     .heads = kAlbertHeads},
    roberta("roberta", "Roberta"),
    roberta("xlm-roberta", "XLMRoberta"),
    roberta("camembert", "Camembert"),
    {.model_type = "mpnet",
     .classes = "MPNet",
     .prefix = "mpnet.",
     .settings = kBertSettings,
     .layer = kMpnetLayer,
     .pooler = "pooler.dense",
     .has_types = false,
     .positions = Family::Positions::after_1,
     .relative_bias = "encoder.relative_attention_bias.weight",
     .heads = kRobertaHeads},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

}  // namespace bert::models
