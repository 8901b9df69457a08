// SPDX-License-Identifier: Apache-2.0
#include "models/config/families/family_settings.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/attention/positions/rotary.h"
#include "models/config/families/position_settings.h"

namespace bert::models {
namespace {

void expect_text(const JsonFile& file, const char* field, const char* expected) {
  if (file.text(field, expected) != expected) file.fail(field, fmt::format("\"{}\"", expected));
}

// What Jina's own encode() pools by, and fields that only training and adapters read.
void expect_plain_encode(const JsonFile& file) {
  expect_text(file, "emb_pooler", "mean");
  expect_absent(file, "truncate_dim");
  for (const char* field :
       {"load_trained_adapters", "lora_alpha", "lora_dropout_p", "lora_main_params_trainable",
        "lora_main_params_trained", "lora_rank", "matryoshka_dimensions"}) {
    file.find(field);
  }
}

}  // namespace

Config::ClassifierPooling read_first_or_mean(const JsonFile& file) {
  const std::string pooling = file.text("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") file.fail("classifier_pooling", "cls or mean");
  using enum Config::ClassifierPooling;
  return pooling == "mean" ? mean : first;
}

void read_ernie(const JsonFile& file, Config& config) {
  const auto tasks = static_cast<int>(file.integer("task_type_vocab_size", 1, 1 << 20, 3));
  config.tasks = file.boolean("use_task_id", false) ? tasks : 0;
}

// Karpukhin et al. 2020: the first token's state is the embedding, and products of these compare a
// question with passages.
void read_dpr(const JsonFile& file, Config& config) {
  config.embeds_first = true;
  if (file.integer("projection_dim", 0, 1 << 20, 0) != 0) {
    file.fail("projection_dim", "0: a projection of embeddings is not supported");
  }
  config.not_evaluated.emplace_back("pooler.");  // BERT's, in older files
}

// Sun et al. 2020.
void read_mobile_bert(const JsonFile& file, Config& config) {
  for (const char* field : {"use_bottleneck", "key_query_shared_bottleneck", "trigram_input"}) {
    if (!file.boolean(field, true)) file.fail(field, "true");
  }
  if (file.boolean("use_bottleneck_attention", false)) {
    file.fail("use_bottleneck_attention", "false");
  }
  expect_text(file, "normalization_type", "no_norm");
  config.normalises = false;
  const auto width = static_cast<int>(file.integer("intra_bottleneck_size", 1, 1 << 16, 128));
  if (width % config.heads != 0) {
    file.fail("intra_bottleneck_size",
              fmt::format("a multiple of num_attention_heads, which is {}", config.heads));
  }
  if (file.integer("true_hidden_size", 1, 1 << 16, width) != width) {
    file.fail("true_hidden_size", fmt::format("{}, as intra_bottleneck_size is", width));
  }
  config.bottleneck = {width, static_cast<int>(file.integer("num_feedforward_networks", 1, 64, 4))};
  config.head_size = width / config.heads;
  config.embeds_neighbours = true;
  if (config.embedding > config.hidden) {
    file.fail("embedding_size", fmt::format("at most hidden_size, which is {}", config.hidden));
  }
  const bool pools = *config.family->pooler != '\0';
  constexpr const char* kActivates = "classifier_activation";
  const bool reads_pooler = std::ranges::any_of(
      config.heads_on_top, [](const HeadRow* head) { return head->reads != ReadBy::every; });
  if (file.boolean(kActivates, true) != pools && (pools || reads_pooler)) {
    file.fail(kActivates, fmt::format("{}, going by the tensors", pools));
  }
}

// Chung et al. 2021.
void read_rem_bert(const JsonFile& file, Config& config) {
  config.decoder_width = file.integer("output_embedding_size", 1, 1 << 16, 1664);
  config.tied = false;  // whatever the file says
}

// Beltagy et al. 2020. Only tokens that attend to all others have the second set of projections.
void read_longformer(const JsonFile& file, Config& config) {
  config.windows = read_layer_windows(file, config);
  for (const std::string& layer : config.layer_names) {
    for (const char* part : {"query", "key", "value"}) {
      config.not_evaluated.push_back(fmt::format("{}.attention.self.{}_global.", layer, part));
    }
  }
  // Of the authors' code, which transformers never reads.
  for (const char* field : {"attention_dilation", "attention_mode", "autoregressive",
                            "ignore_attention_mask", "onnx_export"}) {
    file.find(field);
  }
}

// Language models of proteins (Rives et al. 2021, Lin et al. 2023). The head that predicts contacts
// is not evaluated.
void read_esm(const JsonFile& file, Config& config) {
  if (file.boolean("is_folding_model", false)) {
    file.fail("is_folding_model", "false: ESMFold is not supported");
  }
  for (const char* field : {"esmfold_config", "vocab_list"}) file.find(field);  // ESMFold's
  expect_text(file, "hidden_act", "gelu");  // transformers never reads it
  const bool norms = *config.family->embeddings.norm != '\0';
  if (file.boolean("emb_layer_norm_before", false) != norms) {
    file.fail("emb_layer_norm_before", fmt::format("{}, going by the tensors", norms));
  }
  config.not_evaluated.emplace_back("contact_head.");
  if (file.boolean("token_dropout", false)) {
    config.dropped_token =
        static_cast<int>(file.integer("mask_token_id", 0, config.vocabulary - 1));
  }
  const double theta = positive(file, "rope_theta", 10000);
  const std::string type = file.text("position_embedding_type", "absolute");
  if (type == "absolute") {
    config.position_type = PositionType::absolute;
    config.adds_positions = true;
    return;
  }
  if (type != "rotary") file.fail("position_embedding_type", "absolute or rotary");
  config.positions += std::exchange(config.first_position, 0);
  config.padding = -1;
  config.not_evaluated.emplace_back("embeddings.position_embeddings.");
  for (const char* field : {"rope_scaling", "rope_parameters"}) expect_absent(file, field);
  config.frequencies = engine::rotary_frequencies(theta, head_width(file, config));
}

void read_modern_bert(const JsonFile& file, Config& config) {
  config.has_first_norm = false;
  config.has_bias = {.norm = file.boolean("norm_bias", false),
                     .qkv = file.boolean("attention_bias", false),
                     .up = file.boolean("mlp_bias", false),
                     .head = file.boolean("classifier_bias", false),
                     .decoder = file.boolean("decoder_bias", true)};
  config.has_bias.attention_output = config.has_bias.qkv;
  config.has_bias.down = config.has_bias.up;
  const int64_t every = file.integer("global_attn_every_n_layers", 1, 1 << 20, 3);
  constexpr const char* kReach = "sliding_window";  // overrules the width of both sides
  const int half = half_of(file, "local_attention", 128);
  const int reach = static_cast<int>(file.integer(kReach, 1, 1 << 20, half));
  config.windows = read_windows(file, config, reach, every, 0);
  const double global = positive(file, "global_rope_theta", 160000);
  // If it is null, local layers use the global theta.
  const bool is_null = file.root().contains("local_rope_theta") && !file.has("local_rope_theta");
  const double local = positive(file, "local_rope_theta", is_null ? global : 10000);
  read_rotary(file, {global, local}, config);
  config.classifier_pooling = read_first_or_mean(file);
  // Published files have these, but the model never reads them.
  for (const char* field : {"layer_norm_eps", "position_embedding_type"}) file.find(field);
}

namespace {

void read_experts(const JsonFile& file, Config::Experts& experts) {
  experts.chosen = file.integer("moe_top_k", 1, experts.count);
  experts.every = static_cast<size_t>(file.integer("moe_every_n_layers", 0, 1000));
  for (const char* field : {"moe_normalize_expert_weights", "expert_choice_router"}) {
    if (file.boolean(field, false)) file.fail(field, "false");
  }
  if (file.integer("num_shared_experts", 0, 1000, 0) != 0) file.fail("num_shared_experts", "0");
  for (const char* field : {"moe_impl", "moe_resid_pdrop", "router_aux_loss_coef"})
    file.find(field);
}

}  // namespace

void read_nomic_bert(const JsonFile& file, Config& config) {
  // Whether these are the published code's own files. Its class has another model's defaults.
  const bool published = file.has("n_inner");
  const auto bias = [&](const char* field) { return published && file.at(field).boolean(); };
  const bool qkv = bias("qkv_proj_bias");
  config.has_bias = {.qkv = qkv,
                     .attention_output = qkv,
                     .up = bias("mlp_fc1_bias"),
                     .down = bias("mlp_fc2_bias")};
  for (const char* field : {"prenorm", "parallel_block", "rotary_emb_interleaved", "use_rms_norm",
                            "causal", "norm_mlp", "scale_attn_by_inverse_layer_idx"}) {
    if (file.boolean(field, false)) file.fail(field, "false");
  }
  if (!file.boolean("scale_attn_weights", true)) file.fail("scale_attn_weights", "true");
  // Such a factor would make an input's result depend on the others in its batch.
  expect_absent(file, "rotary_scaling_factor");
  expect_absent(file, "rotary_emb_scale_base");
  config.experts.count = file.integer("num_experts", 0, 1 << 10, 0);
  if (config.experts.count > 0) read_experts(file, config.experts);
  if (file.number("rotary_emb_fraction", published ? 0 : 1) != 1) {
    file.fail("rotary_emb_fraction", "1");
  }
  if (published && !file.has("rotary_emb_base")) file.fail("rotary_emb_base", "a number");
  expect_absent(file, "rope_scaling");
  double theta = positive(file, "rotary_emb_base", positive(file, "rope_theta", 1000));
  if (file.has("rope_parameters")) theta = rope_theta(file.at("rope_parameters"), theta);
  if (published) {
    constexpr int kMultiple = 256;
    if (config.family->gate != Gate::none)
      config.intermediate = (config.intermediate + kMultiple - 1) / kMultiple * kMultiple;
    const auto rows = static_cast<int>(file.integer("pad_vocab_size_multiple", 1, 1 << 20, 1));
    config.vocabulary = (config.vocabulary + rows - 1) / rows * rows;
  }
  config.frequencies = engine::rotary_frequencies(theta, head_width(file, config));
}

void read_gte(const JsonFile& file, Config& config) {
  config.has_bias.up = false;
  expect_text(file, "position_embedding_type", "rope");
  expect_text(file, "layer_norm_type", "layer_norm");
  for (const char* field : {"logn_attention_scale", "logn_attention_clip1"}) {
    if (file.boolean(field, false)) file.fail(field, "false");
  }
  file.boolean("pack_qkv", true);  // the tensors' names say it too
  file.find("matryoshka_dimensions");
  const int64_t width = head_width(file, config);
  // The code's class has another default than transformers'.
  const double theta = positive(file, "rope_theta", file.has("auto_map") ? 10000 : 160000);
  if (file.has("rope_parameters")) {
    config.frequencies =
        engine::rotary_frequencies(rope_theta(file.at("rope_parameters"), theta), width);
    return;
  }
  config.frequencies = engine::rotary_frequencies(theta, width);
  if (!file.has("rope_scaling")) return;
  const JsonField scaling = file.at("rope_scaling");
  if (scaling.has("rope_type") && scaling.at("rope_type").string() == "default") return;
  if (scaling.at("type").string() != "ntk") scaling.at("type").fail("\"ntk\"");
  const double factor = scaling.at("factor").number();
  if (!is_positive(factor)) scaling.at("factor").fail("a positive number that a float can hold");
  if (factor <= 1) return;
  const auto d = static_cast<double>(width);
  if (!scaling.has("mixed_b")) {
    config.frequencies = engine::rotary_frequencies(theta * factor, width);
    const auto by = static_cast<float>(std::pow(factor, 2 / d));
    for (float& frequency : config.frequencies) frequency /= by;
    return;
  }
  const double b = scaling.at("mixed_b").number();
  const double a = std::log(factor) / std::pow(d / 2, b);
  double m = 0;
  for (float& frequency : config.frequencies) {
    frequency /= static_cast<float>(std::exp(a * std::pow(++m, b)));
    if (!std::isfinite(frequency)) scaling.at("mixed_b").fail("one that leaves frequencies finite");
  }
}

void read_jina_bert(const JsonFile& file, Config& config) {
  expect_plain_encode(file);
  expect_text(file, "position_embedding_type", "alibi");
  config.has_bias.up = false;
  const std::string type = file.text("feed_forward_type");
  if (type == "geglu") {
    config.activation = engine::Activation::gelu;
  } else if (type == "reglu") {
    config.activation = engine::Activation::relu;
  } else {
    file.fail("feed_forward_type", "geglu or reglu");
  }
}

// jina-embeddings-v3 in transformers' form, and models of Jina's own code.
void read_jina_roberta(const JsonFile& file, Config& config) {
  if (file.has("lora_adaptations")) {
    for (const JsonField& name : file.at("lora_adaptations").elements()) {
      config.adapters.names.push_back(name.string());
    }
    const auto rank = file.integer("lora_rank", 1, 1 << 20, 4);
    config.adapters.scale = file.number("lora_alpha", 1) / static_cast<double>(rank);
    file.find("task_instructions");  // also the prompts in config_sentence_transformers.json
  }
  if (file.boolean("use_reg_tokens", false)) file.fail("use_reg_tokens", "false");
  expect_plain_encode(file);
  if (config.position_type == PositionType::absolute) return;
  expect_text(file, "position_embedding_type", "rotary");
  if (config.family->needs_code && !file.has("rotary_emb_base")) {
    file.fail("rotary_emb_base", "a number");
  }
  expect_absent(file, "rope_scaling");
  double theta = positive(file, "rotary_emb_base", positive(file, "rope_theta", 20000));
  if (file.has("rope_parameters")) theta = rope_theta(file.at("rope_parameters"), theta);
  config.frequencies = engine::rotary_frequencies(theta, head_width(file, config));
}

namespace {

// A text, as "p2c|c2p", or a list. The first version's scale counts terms, whatever they are.
void read_distance_terms(const JsonFile& file, bool counts, Config::Distances& distances) {
  constexpr const char *kField = "pos_att_type", *kExpected = "c2p, p2c or both";
  const auto take = [&](const std::string& term) {
    bool unknown = false;
    bool& found = term == "c2p" ? distances.keys : term == "p2c" ? distances.queries : unknown;
    if (counts && (found || &found == &unknown)) file.fail(kField, kExpected);
    found = true;
  };
  if (!file.has(kField)) file.fail(kField, kExpected);
  const JsonField field = file.at(kField);
  if (!field.is_string()) {
    for (const JsonField& term : field.elements()) take(term.string());
  } else {
    std::istringstream terms(field.string());
    for (std::string term; std::getline(terms, term, '|');) {
      std::erase(term, ' ');
      for (char& c : term) c = c == 'C' ? 'c' : c == 'P' ? 'p' : c;
      take(term);
    }
  }
  if (!distances.keys && !distances.queries) file.fail(kField, kExpected);
}

}  // namespace

void read_deberta(const JsonFile& file, Config& config) {
  if (!file.boolean("relative_attention", false)) file.fail("relative_attention", "true");
  Config::Distances& distances = config.distances;
  read_distance_terms(file, config.family->layer.qkv_by_heads, distances);
  config.has_bias.distance_key = !config.family->layer.qkv_by_heads;
  if (file.boolean("talking_head", false)) file.fail("talking_head", "false");
  distances.shared = file.boolean("share_att_key", false);
  constexpr int64_t kMost = 1 << 20;
  distances.buckets = std::max<int64_t>(0, file.integer("position_buckets", -1, kMost, -1));
  distances.most = file.integer("max_relative_positions", -1, kMost, -1);
  if (distances.most < 1) distances.most = config.positions;
  if (distances.buckets == 1 ||
      (distances.buckets > 0 && distances.most <= distances.buckets / 2 + 1)) {
    file.fail("position_buckets", "at least 2, and fewer than twice max_relative_positions");
  }
  const std::string norm = file.text("norm_rel_ebd", "none");
  if (norm != "none" && norm != "layer_norm") file.fail("norm_rel_ebd", "none or layer_norm");
  distances.normed = norm == "layer_norm";
  config.adds_positions = file.boolean("position_biased_input", true);
  // deberta-base's files have the table all the same.
  if (!config.adds_positions) config.not_evaluated.emplace_back("embeddings.position_embeddings.");
  if (file.integer("embedding_size", 1, kMost, config.hidden) != config.hidden) {
    file.fail("embedding_size", fmt::format("{}, the hidden size", config.hidden));
  }
  if (file.integer("attention_head_size", 1, kMost, config.head_size) != config.head_size) {
    file.fail("attention_head_size", fmt::format("{}", config.head_size));
  }
  file.boolean("legacy", true);  // the tensors' names say it too
  config.convolution = static_cast<int>(file.integer("conv_kernel_size", 0, 1000, 0));
  if (config.convolution == 0) return;
  if (config.convolution % 2 == 0) file.fail("conv_kernel_size", "an odd number");
  if (file.integer("conv_groups", 1, kMost, 1) != 1) file.fail("conv_groups", "1");
  config.convolution_activation = read_activation(file, "conv_act", "tanh");
}

}  // namespace bert::models
