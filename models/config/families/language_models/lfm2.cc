// SPDX-License-Identifier: Apache-2.0
//
// LFM2 (Liquid AI 2025), most of whose layers have a short convolution instead of attention, and
// the encoders made of it, in which attention and convolutions reach to both sides: their settings,
// and last their rows in the table of families.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/config/families/families.h"
#include "models/config/families/family_rows.h"
#include "models/config/families/family_settings.h"
#include "models/config/families/position_settings.h"

namespace bert::models {
namespace {

// Which layers have a convolution: by layer_types, or all but those of full_attn_idxs.
std::vector<bool> read_convolutions(const JsonFile& file, const Config& config) {
  constexpr const char *kTypes = "layer_types", *kAttention = "full_attn_idxs";
  std::vector<bool> layers(static_cast<size_t>(config.layers), !file.has(kTypes));
  if (!file.has(kTypes)) {
    if (!file.has(kAttention)) return {};
    for (const JsonField& index : file.at(kAttention).elements()) {
      layers[static_cast<size_t>(index.integer(0, config.layers - 1))] = false;
    }
    return layers;
  }
  file.find(kAttention);  // the types overrule it
  const JsonField types = file.at(kTypes);
  const std::vector<JsonField> elements = types.elements();
  if (elements.size() != layers.size()) {
    types.fail_with(fmt::format("found {} entries, expected {}, one for each layer",
                                elements.size(), layers.size()));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string& type = elements[i].string();
    if (type != "conv" && type != "full_attention") elements[i].fail("conv or full_attention");
    layers[i] = type == "conv";
  }
  return layers;
}

// A gated network is narrower by a third, times a factor, and its width a multiple.
int read_intermediate(const JsonFile& file) {
  constexpr const char* kOther = "block_ff_dim";  // overrules intermediate_size
  const char* const field = file.has(kOther) ? kOther : "intermediate_size";
  int64_t width = file.integer(field, 1, kMaxConfigSize);
  const int64_t multiple = file.integer("block_multiple_of", 1, kMaxConfigSize, 256);
  constexpr const char* kWidthFactor = "block_ffn_dim_multiplier";
  const double factor = positive(file, kWidthFactor, 1);
  if (!file.boolean("block_auto_adjust_ff_dim", true)) return static_cast<int>(width);
  width = 2 * width / 3;
  if (file.has(kWidthFactor) || !file.root().contains(kWidthFactor)) {  // null: neither
    const double exact = factor * static_cast<double>(width);
    width = exact > kMaxConfigSize ? int64_t{kMaxConfigSize} + 1 : static_cast<int64_t>(exact);
    width = (width + multiple - 1) / multiple * multiple;
  }
  if (width < 1 || width > kMaxConfigSize) {
    file.fail(field, fmt::format("one that gives a width of at most {}", kMaxConfigSize));
  }
  return static_cast<int>(width);
}

void read_lfm2_layers(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  config.has_bias = {.norm = false,
                     .qkv = false,
                     .attention_output = false,
                     .up = false,
                     .down = false,
                     .decoder = false};
  read_heads(file, config);
  config.intermediate = read_intermediate(file);
  if (file.boolean("conv_bias", false)) file.fail("conv_bias", "false");
  Config::ShortConvolutions& convolutions = config.short_convolutions;
  convolutions.layers = read_convolutions(file, config);
  convolutions.taps = static_cast<int>(file.integer("conv_L_cache", 1, 64, 3));
  read_rope(file, 1000000, config);
  constexpr const char* kOtherTied = "tie_embedding";  // overrules tie_word_embeddings
  const bool tied = file.boolean("tie_word_embeddings", true);
  if (file.boolean(kOtherTied, tied) != tied) file.fail(kOtherTied, tied ? "true" : "false");
  read_last_token(file, config, 0);
  for (const char* field :
       {"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
        "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
        "conv_use_xavier_init", "num_heads", "theta", "use_pos_enc"}) {
    file.find(field);  // of training, or no code reads them
  }
}

void read_lfm2(const JsonFile& file, Config& config) {
  constexpr const char* kCausality = "is_causal";
  if (file.has("auto_map") && !file.has(kCausality)) {
    file.fail(kCausality, "true or false, as the code that auto_map names is never run");
  }
  config.is_causal = read_causality(file);
  config.short_convolutions.is_causal = true;
  read_lfm2_layers(file, config);
}

void read_lfm2_without_mask(const JsonFile& file, Config& config) {
  read_lfm2_layers(file, config);
  if (*config.family->code) return;  // which masks always
  constexpr const char* kZeroPadding = "conv_zero_padding";
  config.short_convolutions.are_masked.reset();
  if (file.has(kZeroPadding))
    config.short_convolutions.are_masked = file.boolean(kZeroPadding, false);
}

constexpr SettingNames lfm2_settings() {
  SettingNames names = kSiluSettings;
  names.head_size = "head_dim";
  names.may_lack_head_size = true;
  return names;
}
constexpr Alias kLfm2Aliases[] = {{"block_ff_dim", "intermediate_size"},
                                  {"tie_embedding", "tie_word_embeddings"}};
constexpr Default kLfm2Defaults[] = {{"intermediate_size", 12288}, {"num_key_value_heads", 8}};

constexpr LayerNames kLfm2Attention = {.layer = "layers.{}",
                                       .query = ".self_attn.q_proj",
                                       .key = ".self_attn.k_proj",
                                       .value = ".self_attn.v_proj",
                                       .attention_output = ".self_attn.out_proj",
                                       .attention_norm = ".operator_norm",
                                       .intermediate = ".feed_forward.w1",
                                       .output = ".feed_forward.w2",
                                       .output_norm = ".ffn_norm",
                                       .query_norm = ".self_attn.q_layernorm",
                                       .key_norm = ".self_attn.k_layernorm",
                                       .norms_heads = true,
                                       .up = ".feed_forward.w3"};
constexpr LayerNames kLfm2Convolution = {.layer = kLfm2Attention.layer,
                                         .attention_output = ".conv.out_proj",
                                         .attention_norm = kLfm2Attention.attention_norm,
                                         .intermediate = kLfm2Attention.intermediate,
                                         .output = kLfm2Attention.output,
                                         .output_norm = kLfm2Attention.output_norm,
                                         .qkv = ".conv.in_proj",
                                         .up = kLfm2Attention.up,
                                         .convolution = ".conv.conv"};

constexpr HeadRow kLfm2Heads[] = {
    {.suffix = "ForMaskedLM", .kind = HeadKind::masked_lm, .output = "lm_head"},
    kClassificationScore,
    kTokenScore};

constexpr Family lfm2(const char* model_type, const char* classes,
                      void (*read_more)(const JsonFile&, Config&)) {
  return {.model_type = model_type,
          .classes = classes,
          .prefix = "model.",
          .published_prefix = "lfm2.",
          .settings = lfm2_settings(),
          .layer = kLfm2Attention,
          .convolution_layer = &kLfm2Convolution,
          .embeddings = {.words = "embed_tokens.weight", .norm = ""},
          .has_types = false,
          .norm_epsilon = {.name = "norm_eps", .fallback = 1e-5},
          .unused_head = "lm_head.",
          .aliases = kLfm2Aliases,
          .defaults = kLfm2Defaults,
          .pre_norm = true,
          .final_norm = "embedding_norm",
          .gate = Gate::separate,
          .position_type = PositionType::rotary,
          .read_more = read_more};
}
constexpr Family lfm2_decoder() {
  Family family = lfm2("lfm2", "Lfm2", read_lfm2);
  family.other_base = "ForCausalLM";
  return family;
}
constexpr Family lfm2_encoder(const char* model_type, const char* code) {
  Family family = lfm2(model_type, "Lfm2Bidirectional", read_lfm2_without_mask);
  family.heads = kLfm2Heads;
  family.code = code;
  family.needs_code = *code;
  return family;
}

constexpr Family kLfm2Families[] = {lfm2_decoder(), lfm2_encoder("lfm2", "Lfm2BidirectionalModel"),
                                    lfm2_encoder("lfm2_bidirectional", "")};

}  // namespace

std::span<const Family> lfm2_families() { return kLfm2Families; }

}  // namespace bert::models
