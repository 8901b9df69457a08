// SPDX-License-Identifier: Apache-2.0
//
// The settings of the language models that embedding models and rerankers are made of.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/config/families/family_settings.h"
#include "models/config/families/position_settings.h"

namespace bert::models {
namespace {

constexpr const char *kIsCausal = "is_causal", *kSlidingWindow = "sliding_window";

// In transformers, a field that is null is not always one that is left out.
bool is_null(const JsonFile& file, const char* field) {
  return file.root().contains(field) && !file.has(field);
}

void refuse_null(const JsonFile& file, const char* field, const char* expected) {
  if (is_null(file, field)) JsonField(file.root().at(field), file.path(), field).fail(expected);
}

}  // namespace

void read_last_token(const JsonFile& file, Config& config, int standard) {
  constexpr const char* kPadding = "pad_token_id";
  config.classifier_pooling = Config::ClassifierPooling::last;
  config.pad_token = is_null(file, kPadding) ? -1 : standard;
  if (file.has(kPadding)) {
    config.pad_token = static_cast<int>(file.integer(kPadding, -1, config.vocabulary - 1));
  }
}

bool read_causality(const JsonFile& file) {
  refuse_null(file, kIsCausal, "true or false");  // transformers takes it for false
  return file.boolean(kIsCausal, true);
}

namespace {

void read_language_model(const JsonFile& file, bool is_causal, Config& config) {
  config.is_causal = is_causal;
  read_rope(file, 10000, config);
  read_last_token(file, config);
  for (const std::string& layer : config.layer_names) {  // in older files
    config.not_evaluated.push_back(layer + ".self_attn.rotary_emb.inv_freq");
  }
}

// Only with is_causal false, a token attends to those after it.
bool is_decoder(const JsonFile& file) {
  if (file.has("auto_map") && !file.has(kIsCausal)) {  // some such code attends to all tokens
    file.fail(kIsCausal, "true or false, as the code that auto_map names is never run");
  }
  return read_causality(file);
}

// For code on the hub that takes the mask away.
void expect_no_mask(const JsonFile& file) {
  constexpr const char* kNoMask = "use_bidirectional_attention";
  if (!file.boolean(kNoMask, true)) file.fail(kNoMask, "true");
}

// A token attends to `sliding_window` tokens, of which it is the last; without a mask, to so many
// on each side.
int reach_of(const JsonFile& file, const Config& config) {
  const auto width = static_cast<int>(file.integer(kSlidingWindow, 2, kMaxConfigSize, 4096));
  return config.is_causal ? width - 1 : width;
}

// With use_sliding_window and a width, layers from max_window_layers on have windows.
void read_qwen3_windows(const JsonFile& file, Config& config) {
  const bool has_windows =
      file.boolean("use_sliding_window", false) && !is_null(file, kSlidingWindow);
  const auto first = file.integer("max_window_layers", 0, kMaxConfigSize, 28);
  file.find(kSlidingWindow);  // otherwise it means nothing
  const int reach = has_windows ? reach_of(file, config) : 1;
  config.windows = read_windows(file, config, reach, 1, 0);
  const auto layers = static_cast<int64_t>(config.windows.size());
  if (has_windows && !file.has("layer_types") && first < layers) {
    std::fill(config.windows.begin() + first, config.windows.end(), reach);
  }
  const bool has_any = std::ranges::count(config.windows, 0) < layers;
  if (has_any && !has_windows) file.fail("layer_types", "full_attention for all layers");
  if (!has_any) config.windows.clear();
}

void read_qwen3(const JsonFile& file, bool is_causal, Config& config) {
  read_llama_layers(file, config);
  config.has_bias.up = config.has_bias.down = false;
  read_language_model(file, is_causal, config);
  read_qwen3_windows(file, config);
}

}  // namespace

// Llama (Touvron et al. 2023; Grattafiori et al. 2024)
void read_llama(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  read_language_model(file, is_decoder(file), config);
}

// NVIDIA's embedding models and rerankers, of which the latter divide scores by a temperature.
void read_llama_without_mask(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  expect_no_mask(file);
  read_language_model(file, false, config);
  constexpr const char* kPooling = "pooling";
  const std::string pooling = file.text(kPooling, "avg");
  if (pooling != "avg" && pooling != "cls" && pooling != "last") {
    file.fail(kPooling, "avg, cls or last");
  }
  using enum Config::ClassifierPooling;
  config.classifier_pooling = pooling == "avg" ? mean : pooling == "cls" ? first : last;
  config.pad_token = -1;
  config.logit_scale = static_cast<float>(1 / positive(file, "temperature", 1));
}

// Mistral (Jiang et al. 2023), with windows in all layers; Ministral 3 (Liu et al. 2026), whose
// queries grow with the positions beyond those that it was trained on: inputs end before them.
void read_mistral(const JsonFile& file, Config& config) {
  read_llama_layers(file, config);
  config.has_bias = {
      .norm = false, .qkv = false, .attention_output = false, .up = false, .down = false};
  read_language_model(file, is_decoder(file), config);
  constexpr const char *kRope = "rope_parameters", *kGrowth = "llama_4_scaling_beta";
  const bool is_newer = config.family->model_type == std::string_view("ministral3");
  if (file.has(kSlidingWindow) || !(is_newer || is_null(file, kSlidingWindow))) {
    config.windows.assign(static_cast<size_t>(config.layers), reach_of(file, config));
  }
  if (!is_newer) return;
  read_last_token(file, config, 11);
  if (!file.has(kRope)) file.fail(kRope, "the settings that the model was trained with");
  const JsonField rope = file.at(kRope);
  if (!rope.has(kGrowth) || rope.at(kGrowth).number() == 0) return;
  const int64_t trained = rope.at("original_max_position_embeddings").integer(1, kMaxConfigSize);
  config.positions = std::min(config.positions, static_cast<int>(trained));
}

// Qwen3 (Yang et al. 2025)
void read_qwen3(const JsonFile& file, Config& config) {
  read_qwen3(file, is_decoder(file), config);
}

// Qwen2 has other biases.
void read_qwen2(const JsonFile& file, Config& config) {
  read_qwen3(file, config);
  config.has_bias.qkv = true;
  config.has_bias.attention_output = false;
}

// Perplexity's embedding models.
void read_qwen3_without_mask(const JsonFile& file, Config& config) {
  expect_no_mask(file);
  read_qwen3(file, false, config);
}

// voyage-4-nano.
void read_voyage(const JsonFile& file, Config& config) {
  read_qwen3_without_mask(file, config);
  config.output = static_cast<int>(file.integer("num_labels", 1, 1 << 16));
}

// jina-embeddings-v5-text-small: Qwen3 with an adapter for each task (Akram et al. 2026).
void read_jina_v5_decoder(const JsonFile& file, Config& config) {
  read_qwen3(file, read_causality(file), config);
}

namespace {

// Of how many layers the last has no window, if layer_types does not say it. transformers writes
// the field with a line before its name, but never reads that.
int64_t read_pattern(const JsonFile& file) {
  file.find("_sliding_window_pattern");
  return file.integer("sliding_window_pattern", 1, 1 << 20, 6);
}

}  // namespace

// Gemma 3 (Gemma Team 2025), and without a mask EmbeddingGemma (Schechter Vera et al. 2025).
void read_gemma3(const JsonFile& file, Config& config) {
  expect_absent(file, kIsCausal);  // it would overrule what follows, with other windows
  refuse_null(file, kIsCausal, "no such field");
  config.is_causal = !file.boolean("use_bidirectional_attention", false);
  config.is_rms_norm = true;
  config.gain_offset = 1;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  const bool bias = file.boolean("attention_bias", false);
  config.has_bias = {
      .norm = false, .qkv = bias, .attention_output = bias, .up = false, .down = false};
  read_heads(file, config);
  read_last_token(file, config, 0);
  config.attention_scale =
      static_cast<float>(1 / std::sqrt(positive(file, "query_pre_attn_scalar", 256)));
  for (const char* field : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    expect_absent(file, field);
  }
  const int64_t every = read_pattern(file);
  const int reach = config.is_causal ? reach_of(file, config) : half_of(file, kSlidingWindow, 4096);
  config.windows = read_windows(file, config, reach, every, every - 1);
  if (std::ranges::count(config.windows, reach) > 0) refuse_null(file, kSlidingWindow, "a number");
  read_rotary(
      file, {positive(file, "rope_theta", 1000000), positive(file, "rope_local_base_freq", 10000)},
      config, "rope_scaling");
}

namespace {

// Layers without a window have heads of another shape, which transformers writes by layer.
Config::HeadShape read_global_heads(const JsonFile& file, const Config& config) {
  constexpr const char* kByLayer = "per_layer_config";
  std::optional<Config::HeadShape> shape;
  const JsonField by_layer = file.at(kByLayer);
  for (int i = 0; i < config.layers; ++i) {
    const auto layers = by_layer.members();
    const auto found = std::ranges::find_if(layers, [&](const auto& layer) {
      const std::string& name = layer.first;  // "5", or "05" where there are ten layers or more
      return name == std::to_string(i) || name == fmt::format("{:02}", i);
    });
    const bool is_global = config.windows[i] == 0;
    if (is_global != (found != layers.end())) {
      by_layer.fail_with(fmt::format("layer {} is {}, expected the layers with full_attention", i,
                                     is_global ? "missing" : "among them"));
    }
    if (!is_global) continue;
    const auto own = [&](const char* field) {  // left out where it is that of all layers
      return found->second.has(field) ? found->second.at(field) : file.at(field);
    };
    const JsonField size = own("head_dim"), key_heads = own("num_key_value_heads");
    if (!shape) {
      shape = {size.integer(2, 1 << 12), static_cast<int>(key_heads.integer(1, config.heads))};
      if (shape->size % 2 != 0) size.fail("an even number");
      if (config.heads % shape->key_heads != 0) {
        key_heads.fail(fmt::format("a divisor of {}", config.heads));
      }
    }
    if (size.integer(2, 1 << 12) != shape->size) size.fail(fmt::format("{}", shape->size));
    if (key_heads.integer(1, config.heads) != shape->key_heads) {
      key_heads.fail(fmt::format("{}", shape->key_heads));
    }
  }
  return *shape;
}

}  // namespace

// EmbeddingGemma 2. Only its part for texts is evaluated.
void read_embedding_gemma2(const JsonFile& file, Config& config) {
  config.is_rms_norm = true;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  config.attention_scale = 1;
  const bool bias = file.boolean("attention_bias", false);
  config.has_bias = {
      .norm = false, .qkv = bias, .attention_output = bias, .up = false, .down = false};
  read_heads(file, config);
  const auto reach = static_cast<int>(file.integer(kSlidingWindow, 1, 1 << 20));
  const int64_t every = read_pattern(file);
  config.windows = read_windows(file, config, reach, every, every - 1);
  config.windows.back() = 0;
  config.global_heads = read_global_heads(file, config);
  read_rotary(file, {1000000, 10000}, config);
  config.layer_inputs = static_cast<int>(file.integer("hidden_size_per_layer_input", 1, 1 << 16));
  config.output = static_cast<int>(file.integer("embedding_dim", 1, 1 << 16));
  for (const char* part : {"audio_tower.", "embed_audio.", "embed_vision.", "vision_tower."}) {
    config.not_evaluated.emplace_back(part);
  }
  for (const char* field :
       {"audio_config", "audio_token_id", "boa_token_id", "boi_token_id", "eoa_token_index",
        "eoi_token_id", "image_token_id", "text_config", "video_token_id", "vision_config"}) {
    file.find(field);
  }
}

}  // namespace bert::models
