// SPDX-License-Identifier: Apache-2.0
//
// The settings of families with the layers of language models, and of T5, BART, CLIP
// and Chinese CLIP.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/attention/positions/rotary.h"
#include "models/config/families/family_settings.h"
#include "models/config/families/position_settings.h"

namespace bert::models {

void read_key_heads(const JsonFile& file, Config& config) {
  constexpr const char* kKeyHeads = "num_key_value_heads";
  // Mistral's class has 8 where the files do not say, but as many as queries where they say null.
  const bool is_mistral = config.family->model_type == std::string_view("mistral");
  const int usual = is_mistral && !file.root().contains(kKeyHeads) ? 8 : config.heads;
  config.key_heads =
      static_cast<int>(file.integer(kKeyHeads, 1, config.heads, std::min(usual, config.heads)));
  if (config.heads % config.key_heads != 0) {
    file.fail(kKeyHeads, fmt::format("a divisor of '{}', which is {}",
                                     config.family->settings.heads, config.heads));
  }
}

void read_heads(const JsonFile& file, Config& config) {
  read_key_heads(file, config);
  const int64_t width = config.head_size;
  if (file.integer("head_dim", 1, 1 << 20, width) != width) {
    file.fail("head_dim", fmt::format("{}, the hidden size by the number of heads", width));
  }
}

void read_llama_layers(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  const bool attention = file.boolean("attention_bias", false);
  const bool feed_forward = file.boolean("mlp_bias", false);
  config.has_bias = {.norm = false,
                     .qkv = attention,
                     .attention_output = attention,
                     .up = feed_forward,
                     .down = feed_forward};
  read_heads(file, config);
}

// Boizard et al. 2025
void read_euro_bert(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  config.has_bias.decoder = config.has_bias.up;
  if (!file.has("rope_parameters") && !file.has("rope_theta")) file.fail("rope_theta", "a number");
  read_rope(file, 10000, config);
  const std::string pooling = file.text("classifier_pooling", "late");
  if (pooling != "bos" && pooling != "mean" && pooling != "late") {
    file.fail("classifier_pooling", "bos, mean or late");
  }
  using enum Config::ClassifierPooling;
  config.classifier_pooling = pooling == "bos" ? first : pooling == "mean" ? mean : late;
}

// EuroBERT's layers, most of them with windows.
void read_ultra_bert(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  config.has_bias.head = config.has_bias.decoder = false;
  config.head_width = file.integer("prediction_head_size", 1, 1 << 16, 768);
  const auto reach = static_cast<int>(file.integer("sliding_window", 1, 1 << 20, 128));
  Thetas thetas{2560000, 10000};
  const bool published = file.has("attention_windows");
  expect_absent(file, published ? "layer_types" : "rope_theta");
  config.windows = published ? read_published_windows(file, config, thetas)
                             : read_windows(file, config, reach, 3, 2);
  read_rotary(file, thetas, config);
  config.classifier_pooling = read_first_or_mean(file);
}

// Le Breton et al. 2025. A gated network is narrower by a third, and its width a multiple of 8.
void read_neo_bert(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  config.has_bias = {
      .norm = false, .qkv = false, .attention_output = false, .up = false, .down = false};
  if (config.activation != engine::Activation::silu) file.fail("hidden_act", "\"SwiGLU\"");
  constexpr int kMultiple = 8;
  config.intermediate = (2 * config.intermediate / 3 + kMultiple - 1) / kMultiple * kMultiple;
  config.frequencies = engine::rotary_frequencies(10000, head_width(file, config));
  for (const char* field : {"rms_norm", "rope"}) {
    if (!file.boolean(field, true)) file.fail(field, "true");
  }
  if (file.boolean("ngpt", false)) file.fail("ngpt", "false");
  // Of training, or known from the sizes.
  for (const char* field : {"base_scale", "classifier_init_range", "decoder_init_range", "dim_head",
                            "embedding_init_range", "flash_attention", "kwargs",
                            "pretrained_model_name_or_path", "trust_remote_code"}) {
    file.find(field);
  }
}

// ESM C, a language model of proteins. What its layers add gets smaller with their number.
void read_esmc(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  config.is_rms_norm = false;
  config.has_bias.norm = true;
  config.has_bias.query_norm = config.has_bias.final_norm = false;
  if (config.key_heads != config.heads) {
    file.fail("num_key_value_heads", fmt::format("{}, the number of heads", config.heads));
  }
  read_rope(file, 10000, config);
  config.branch_scale = std::sqrt(36 / static_cast<float>(config.layers));
}

// OpenAI's Privacy Filter (2026): gpt-oss' layers without a mask, but with windows in all of them.
void read_privacy_filter(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  const bool attention = file.boolean("attention_bias", true);
  config.has_bias = {.norm = false, .qkv = attention, .attention_output = attention};
  if (!file.has("num_key_value_heads")) file.fail("num_key_value_heads", "a number");
  read_key_heads(file, config);
  for (const char* field : {"sliding_window", "rope_parameters"}) {
    if (!file.has(field)) file.fail(field, "the settings that the model was trained with");
  }
  const auto reach = static_cast<int>(file.integer("sliding_window", 1, 1 << 20));
  config.windows.assign(static_cast<size_t>(config.layers), reach);
  read_rope(file, 150000, config);
  const char* const count = file.has("num_experts") ? "num_experts" : "num_local_experts";
  config.experts.count = file.integer(count, 1, 1 << 10);
  config.experts.chosen = file.integer("num_experts_per_tok", 1, config.experts.count);
  config.experts.every = 1;
  config.experts.among_chosen = true;
  config.experts.limit = static_cast<float>(positive(file, "swiglu_limit", 7));
  if (file.number("swiglu_alpha", 1.702) != 1.702) file.fail("swiglu_alpha", "1.702");
  for (const char* field : {"default_n_ctx", "initial_context_length", "output_router_logits",
                            "router_aux_loss_coef"}) {
    file.find(field);  // of training, or the same as in rope_parameters
  }
}

// T5 (Raffel et al. 2020): norms keep the mean, there are no biases, and scores are not scaled.
void read_t5(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  config.attention_scale = 1;
  config.has_bias = {
      .norm = false, .qkv = false, .attention_output = false, .up = false, .down = false};
  constexpr const char* kNetwork = "feed_forward_proj";
  const std::string network = file.text(kNetwork, config.family->settings.default_activation);
  if (config.gate == Gate::separate && !network.starts_with("gated-")) {
    file.fail(kNetwork, "gated-gelu or gated-silu");
  }
  constexpr const char* kActivation = "dense_act_fn";  // overrules what feed_forward_proj says
  if (file.has(kActivation)) config.activation = read_activation(file, kActivation, "");
  if (file.integer("relative_attention_max_distance", 1, 1 << 20, 128) != 128) {
    file.fail("relative_attention_max_distance", "128");
  }
}

namespace {

void expect_same_as_encoder(const JsonFile& file, const char* field, int expected) {
  if (file.integer(field, 1, kMaxConfigSize) != expected) {
    file.fail(field, fmt::format("{}, as in the encoder", expected));
  }
}

}  // namespace

// BART (Lewis et al. 2020). The last hidden state is the decoder's, in which no token attends to
// later ones, of the input shifted by one token; classifiers read that of the last end of sequence.
void read_bart(const JsonFile& file, Config& config) {
  config.positions = static_cast<int>(file.integer("max_position_embeddings", 1, kMaxConfigSize));
  config.first_position = 2;
  config.first_decoder_layer = config.layer_names.size();
  const auto decoder_layers = static_cast<int>(file.integer("decoder_layers", 1, 1000));
  config.layers += decoder_layers;
  for (int i = 0; i < decoder_layers; ++i) {
    config.layer_order.push_back(static_cast<int>(config.layer_names.size()));
    config.layer_names.push_back(fmt::format(fmt::runtime(config.family->decoder.layer), i));
  }
  expect_same_as_encoder(file, "decoder_attention_heads", config.heads);
  expect_same_as_encoder(file, "decoder_ffn_dim", config.intermediate);
  const int last = config.vocabulary - 1;
  config.decoder_start = static_cast<int>(file.integer("decoder_start_token_id", 0, last, 2));
  const auto end = static_cast<int>(file.integer("eos_token_id", 0, last, 2));
  const bool classifies = std::ranges::any_of(config.heads_on_top, [](const HeadRow* head) {
    return head->kind == HeadKind::classification;
  });
  if (classifies) config.end_token = end;
  config.classifier_pooling = Config::ClassifierPooling::last;
  for (const char* field : {"add_bias_logits", "add_final_layer_norm", "normalize_before",
                            "scale_embedding", "static_position_embeddings"}) {
    if (file.boolean(field, false)) file.fail(field, "false");
  }
  if (!file.boolean("normalize_embedding", true)) file.fail("normalize_embedding", "true");
  if (file.integer("extra_pos_embeddings", 0, 2, 2) != 2) file.fail("extra_pos_embeddings", "2");
  for (const char* name : {"decoder.version", "encoder.version"}) {
    config.not_evaluated.emplace_back(name);
  }
  for (const char* field : {"activation_dropout", "classif_dropout", "decoder_layerdrop",
                            "encoder_layerdrop", "init_std"}) {
    file.find(field);  // of training
  }
}

namespace {

// Of an encoder of texts, whose embedding is `state`, beside one of images, which is not evaluated.
void read_beside_images(const JsonFile& file, Config::TextState state, Config& config) {
  const auto columns = static_cast<int>(file.integer("text_projection_dim", 1, kMaxConfigSize));
  if (*config.family->text_projection) state.columns = columns;
  config.text_state = state;
  for (const char* part : {"logit_scale", "vision_model.", "visual_projection."}) {
    config.not_evaluated.emplace_back(part);
  }
  for (const char* field : {"logit_scale_init_value", "vision_config", "vision_config_dict"}) {
    file.find(field);
  }
}

}  // namespace

// CLIP (Radford et al. 2021). Only its part for texts is evaluated, in which no token attends to
// later ones, so that the state of the end is the text's.
void read_clip(const JsonFile& file, Config& config) {
  config.is_causal = true;
  Config::TextState state;
  constexpr int kWrong = 2;  // in CLIP's files before transformers 4.31, whatever the tokenizer's
  const bool is_clip = std::string_view(config.family->classes).starts_with("CLIP");
  const auto end = static_cast<int>(file.integer("eos_token_id", 0, config.vocabulary - 1));
  if (!is_clip || end != kWrong) state.end = end;
  read_beside_images(file, state, config);
}

// Yang et al. 2022: BERT beside an encoder of images.
void read_chinese_clip(const JsonFile& file, Config& config) {
  Config::TextState state;
  state.is_first = true;
  read_beside_images(file, state, config);
}

}  // namespace bert::models
