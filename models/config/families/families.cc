// SPDX-License-Identifier: Apache-2.0
//
// The older families, whose layers are BERT's under other names, or in MobileBERT around them. In
// this order: settings, layers, heads, and last the table, whose rows combine them;
// newer_families.cc has the same order.
#include "models/config/families/families.h"

#include <array>
#include <iterator>
#include <vector>

#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"

namespace bert::models {
namespace {

using enum HeadKind;
using enum ReadBy;

constexpr SettingNames kAlbertSettings = with_activation("hidden_act", "gelu_new");
constexpr SettingNames kDistilBertSettings = {.layers = "n_layers",
                                              .hidden = "dim",
                                              .heads = "n_heads",
                                              .intermediate = "hidden_dim",
                                              .activation = "activation",
                                              .default_activation = "gelu"};

constexpr Alias kRemBertAliases[] = {{"input_embedding_size", "embedding_size"}};
constexpr Default kRemBertDefaults[] = {{"embedding_size", 256}};
constexpr Default kChineseClipDefaults[] = {
    {"hidden_size", 768},        {"intermediate_size", 3072}, {"max_position_embeddings", 512},
    {"num_attention_heads", 12}, {"num_hidden_layers", 12},   {"text_projection_dim", 512},
    {"vocab_size", 30522}};

constexpr LayerNames kBertLayer = {.layer = "encoder.layer.{}",
                                   .query = ".attention.self.query",
                                   .key = ".attention.self.key",
                                   .value = ".attention.self.value",
                                   .attention_output = ".attention.output.dense",
                                   .attention_norm = ".attention.output.LayerNorm",
                                   .intermediate = ".intermediate.dense",
                                   .output = ".output.dense",
                                   .output_norm = ".output.LayerNorm"};
// BERT's layer with norms before attention and the feed-forward network.
constexpr LayerNames pre_norm_layer(const char* attention_norm, const char* output_norm) {
  LayerNames names = kBertLayer;
  names.attention_norm = attention_norm;
  names.output_norm = output_norm;
  return names;
}
constexpr LayerNames kDistilBertLayer = {.layer = "transformer.layer.{}",
                                         .query = ".attention.q_lin",
                                         .key = ".attention.k_lin",
                                         .value = ".attention.v_lin",
                                         .attention_output = ".attention.out_lin",
                                         .attention_norm = ".sa_layer_norm",
                                         .intermediate = ".ffn.lin1",
                                         .output = ".ffn.lin2",
                                         .output_norm = ".output_layer_norm"};
constexpr LayerNames kAlbertLayer = {.layer = "encoder.albert_layer_groups.{}.albert_layers.{}",
                                     .query = ".attention.query",
                                     .key = ".attention.key",
                                     .value = ".attention.value",
                                     .attention_output = ".attention.dense",
                                     .attention_norm = ".attention.LayerNorm",
                                     .intermediate = ".ffn",
                                     .output = ".ffn_output",
                                     .output_norm = ".full_layer_layer_norm"};
constexpr LayerNames kMpnetLayer = {.layer = "encoder.layer.{}",
                                    .query = ".attention.attn.q",
                                    .key = ".attention.attn.k",
                                    .value = ".attention.attn.v",
                                    .attention_output = ".attention.attn.o",
                                    .attention_norm = ".attention.LayerNorm",
                                    .intermediate = ".intermediate.dense",
                                    .output = ".output.dense",
                                    .output_norm = ".output.LayerNorm"};

constexpr HeadRow kNextSentence = {.suffix = "ForNextSentencePrediction",
                                   .kind = next_sentence,
                                   .reads = pooler,
                                   .output = "cls.seq_relationship"};
constexpr HeadRow kBertHeads[] = {kPooledClassifier,
                                  kNextSentence,
                                  kBertPredictions,
                                  with_suffix(kBertPredictions, "ForPreTraining"),
                                  with_suffix(kNextSentence, "ForPreTraining"),
                                  kTokenClassifier,
                                  kQuestionAnswering,
                                  as_multiple_choice(kPooledClassifier)};

// reads: the pooler, unless it has no weights and so returns the first token's state.
constexpr std::array<HeadRow, 8> mobile_bert_heads(ReadBy reads) {
  HeadRow classifier = kPooledClassifier, next = kNextSentence, predictions = kBertPredictions;
  classifier.reads = next.reads = reads;
  predictions.more_columns = "cls.predictions.dense";
  return {classifier,
          next,
          predictions,
          with_suffix(predictions, "ForPreTraining"),
          with_suffix(next, "ForPreTraining"),
          kTokenClassifier,
          kQuestionAnswering,
          as_multiple_choice(classifier)};
}
constexpr auto kMobileBertHeads = mobile_bert_heads(pooler),
               kUnpooledMobileBertHeads = mobile_bert_heads(first);

constexpr HeadRow kDistilBertClassifier = {.suffix = "ForSequenceClassification",
                                           .kind = classification,
                                           .reads = first,
                                           .transform = "pre_classifier",
                                           .activation = "relu",
                                           .output = "classifier"};
constexpr HeadRow kDistilBertHeads[] = {kDistilBertClassifier,
                                        {.suffix = "ForMaskedLM",
                                         .kind = masked_lm,
                                         .transform = "vocab_transform",
                                         .norm = "vocab_layer_norm",
                                         .output = "vocab_projector",
                                         .bias = "vocab_projector.bias"},
                                        kTokenClassifier,
                                        kQuestionAnswering,
                                        as_multiple_choice(kDistilBertClassifier)};

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
    kTokenClassifier,
    kQuestionAnswering,
    as_multiple_choice(
        {.reads = first, .transform = "sequence_summary.summary", .activation = "gelu"})};

constexpr HeadRow kAlbertPredictions = {.suffix = "ForMaskedLM",
                                        .kind = masked_lm,
                                        .transform = "predictions.dense",
                                        .norm = "predictions.LayerNorm",
                                        .output = "predictions.decoder",
                                        .bias = "predictions.bias"};
constexpr HeadRow kAlbertHeads[] = {kPooledClassifier,
                                    kAlbertPredictions,
                                    with_suffix(kAlbertPredictions, "ForPreTraining"),
                                    {.suffix = "ForPreTraining",
                                     .kind = sentence_order,
                                     .reads = pooler,
                                     .output = "sop_classifier.classifier"},
                                    kTokenClassifier,
                                    kQuestionAnswering,
                                    as_multiple_choice(kPooledClassifier)};

constexpr HeadRow kRemBertHeads[] = {kPooledClassifier,
                                     {.suffix = "ForMaskedLM",
                                      .kind = masked_lm,
                                      .transform = "cls.predictions.dense",
                                      .norm = "cls.predictions.LayerNorm",
                                      .output = "cls.predictions.decoder",
                                      .bias = "cls.predictions.decoder.bias"},
                                     kTokenClassifier,
                                     kQuestionAnswering,
                                     as_multiple_choice(kPooledClassifier)};

constexpr Family roberta(const char* model_type, const char* classes,
                         const char* prefix = "roberta.") {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = prefix,
          .settings = kBertSettings,
          .layer = kBertLayer,
          .pooler = "pooler.dense",
          .positions = Family::Positions::after_pad_token,
          .heads = kRobertaHeads};
}

constexpr Family roberta_pre_layer_norm() {
  Family family = roberta("roberta-prelayernorm", "RobertaPreLayerNorm", "roberta_prelayernorm.");
  family.layer = pre_norm_layer(".attention.LayerNorm", ".intermediate.LayerNorm");
  family.pre_norm = true;
  family.final_norm = "LayerNorm";
  return family;
}
// The other heads' classes let some tokens attend to all others.
constexpr Family longformer() {
  Family family = roberta("longformer", "Longformer", "longformer.");
  family.heads = std::span(kRobertaHeads).subspan(1, 2);  // of tokens
  family.unused_head = "lm_head.";
  family.read_more = read_longformer;
  return family;
}
// embeddings_norm: of ESM-1b, by whose tensors it is told from the others.
constexpr Family esm(const char* embeddings_norm, const char* mark) {
  Family family = roberta("esm", "Esm", "esm.");
  family.layer = pre_norm_layer(".attention.LayerNorm", ".LayerNorm");
  family.embeddings.norm = embeddings_norm;
  family.has_types = false;
  family.heads = std::span(kRobertaHeads).first(3);
  family.mark = mark;
  family.pre_norm = true;
  family.final_norm = "encoder.emb_layer_norm_after";
  family.position_type = PositionType::rotary;
  family.read_more = read_esm;
  return family;
}
constexpr Family xlm_roberta_xl() {
  Family family = roberta("xlm-roberta-xl", "XLMRobertaXL");
  family.layer = pre_norm_layer(".attention.self_attn_layer_norm", ".LayerNorm");
  family.embeddings.norm = "";
  family.default_types = 1;
  family.norm_epsilon.fallback = 1e-5;
  family.pre_norm = true;
  family.final_norm = "encoder.LayerNorm";
  return family;
}

constexpr Family mobile_bert(const char* pooler_name, std::span<const HeadRow> heads,
                             const char* mark) {
  return {.model_type = "mobilebert",
          .classes = "MobileBert",
          .prefix = "mobilebert.",
          .settings = with_activation("hidden_act", "relu"),
          .layer = kBertLayer,
          .projection = "embeddings.embedding_transformation",
          .always_projected = true,
          .splits_hidden = false,
          .pooler = pooler_name,
          .heads = heads,
          .mark = mark,
          .read_more = read_mobile_bert};
}

// Either of the two encoders, each with the names of its own class.
constexpr Family dpr(const char* base, const char* prefix, const char* mark) {
  return {.model_type = "dpr",
          .classes = "DPR",
          .base = base,
          .prefix = prefix,
          .settings = kBertSettings,
          .layer = kBertLayer,
          .mark = mark,
          .read_more = read_dpr};
}

constexpr Family kFamilies[] = {
    {.model_type = "bert",
     .classes = "Bert",
     .prefix = "bert.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .pooler = "pooler.dense",
     .relative_keys = true,
     .heads = kBertHeads,
     .unused_head = "fit_dense"},  // TinyBERT's, by which its hidden states were trained
    dpr("QuestionEncoder", "question_encoder.bert_model.",
        "question_encoder.bert_model.embeddings.word_embeddings.weight"),
    dpr("ContextEncoder", "ctx_encoder.bert_model.", ""),
    {.model_type = "ernie",
     .classes = "Ernie",
     .prefix = "ernie.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .pooler = "pooler.dense",
     .heads = kBertHeads,
     .read_more = read_ernie},
    {.model_type = "megatron-bert",
     .classes = "MegatronBert",
     .prefix = "bert.",
     .settings = kBertSettings,
     .layer = pre_norm_layer(".attention.ln", ".ln"),
     .embeddings = {.norm = ""},
     .pooler = "pooler.dense",
     .heads = kBertHeads,
     .pre_norm = true,
     .final_norm = "encoder.ln"},
    mobile_bert("pooler.dense", kMobileBertHeads, "pooler.dense.weight"),
    mobile_bert("", kUnpooledMobileBertHeads, ""),
    {.model_type = "distilbert",
     .classes = "DistilBert",
     .prefix = "distilbert.",
     .settings = kDistilBertSettings,
     .layer = kDistilBertLayer,
     .has_types = false,
     .norm_epsilon = {.name = ""},
     .may_be_sinusoidal = true,
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
    {.model_type = "rembert",
     .classes = "RemBert",
     .prefix = "rembert.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .projection = "encoder.embedding_hidden_mapping_in",
     .always_projected = true,
     .pooler = "pooler.dense",
     .heads = kRemBertHeads,
     .tied = false,
     .aliases = kRemBertAliases,
     .defaults = kRemBertDefaults,
     .read_more = read_rem_bert},
    {.model_type = "chinese_clip",
     .classes = "ChineseCLIP",
     .prefix = "text_model.",
     .settings = kBertSettings,
     .layer = kBertLayer,
     .text_projection = "text_projection",
     .aliases = kTextProjectionAliases,
     .defaults = kChineseClipDefaults,
     .nested = "text_config",
     .read_more = read_chinese_clip},
    roberta("roberta", "Roberta"),
    roberta("xlm-roberta", "XLMRoberta"),
    roberta("camembert", "Camembert"),
    roberta("data2vec-text", "Data2VecText", "data2vec_text."),
    roberta_pre_layer_norm(),
    xlm_roberta_xl(),
    longformer(),
    esm("embeddings.layer_norm", "embeddings.layer_norm.weight"),
    esm("", ""),
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

std::span<const Family> families() {
  // Never destroyed, as are other tables: a model may be loaded, and used, while a process exits.
  static const auto& all = *new const auto([] {
    std::vector<Family> rows(std::begin(kFamilies), std::end(kFamilies));
    for (const auto more :
         {newer_families(), decoder_families(), lfm2_families(), language_model_families()}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }());
  return all;
}

}  // namespace bert::models
