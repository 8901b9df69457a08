// SPDX-License-Identifier: Apache-2.0
#include "models/config/extraction/span_settings.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "models/bert_infer.h"

namespace bert::models {
namespace {

// Far above any published model, and small enough that no product of sizes overflows.
constexpr int64_t kMostWords = 1 << 16, kWidest = 1 << 8, kMostIds = 1 << 24;

// Other models of the GLiNER library have other parts.
void refuse_variants(const JsonFile& file) {
  struct Setting {
    const char *field, *only;
  };
  for (const auto& [field, only] :
       std::initializer_list<Setting>{{"subtoken_pooling", "first"},
                                      {"words_splitter_type", "whitespace"},
                                      {"post_fusion_schema", ""}}) {
    if (file.text(field, only) != only) file.fail(field, fmt::format("\"{}\"", only));
  }
  for (const char* field : {"fuse_layers", "precomputed_prompts_mode", "represent_spans"}) {
    if (file.boolean(field, false)) file.fail(field, "false");
  }
  for (const char* field :
       {"labels_encoder", "labels_decoder", "relations_layer", "span_encoder_config"}) {
    if (file.has(field)) file.fail(field, "null");
  }
}

}  // namespace

std::optional<SpanSettings> read_span_settings(const std::string& directory) {
  const std::string path = directory + "/gliner_config.json";
  if (!is_there(path)) return std::nullopt;
  const JsonFile file(path);
  refuse_variants(file);
  SpanSettings settings;
  settings.path = path;
  settings.base = file.text("model_name", "");
  settings.width = file.integer("hidden_size", 2, 1 << 16, 512);
  if (settings.width % 2 != 0) file.fail("hidden_size", "an even number");
  settings.most_words = file.integer("max_len", 1, kMostWords, 384);
  settings.widest = file.integer("max_width", 1, kWidest, 12);
  settings.lstm_layers = file.integer("num_rnn_layers", -1, 100, 1);
  settings.marker = file.text("ent_token", "<<ENT>>");
  settings.separator = file.text("sep_token", "<<SEP>>");
  settings.marker_id = static_cast<int32_t>(file.integer("class_token_index", -1, kMostIds, -1));
  const std::string mode = file.text("span_mode", "markerV0");
  settings.by_word = mode == "token_level";
  if (!settings.by_word && mode != "markerV0") {
    file.fail("span_mode", "\"markerV0\" or \"token_level\"");
  }
  settings.reads_marker = file.boolean("embed_ent_token", true);
  return settings;
}

namespace {

// missing: what the directory does not have.
std::string base_folder(const SpanSettings& settings, const char* missing) {
  const std::string& base = settings.base;
  if (base.starts_with('/') || base.starts_with('.') || std::ranges::count(base, '/') > 1) {
    throw std::runtime_error(fmt::format(
        "{}: {} missing, and model_name is '{}', expected ORG/NAME", settings.path, missing, base));
  }
  try {
    return find_model(settings.base);
  } catch (const Error& error) {
    throw std::runtime_error(
        fmt::format("{}: {} missing, and model_name, '{}', which could stand in for it, was not "
                    "found: {}",
                    settings.path, missing, settings.base, error.what()));
  }
}

}  // namespace

JsonFile SpanSettings::encoder() const {
  const JsonFile file(path);
  if (!file.has("encoder_config")) {
    return JsonFile(base_folder(*this, "encoder_config is") + "/config.json");
  }
  file.at("encoder_config").members();  // an object
  JsonFile own(path + ": encoder_config", *file.find("encoder_config"));
  if (!own.has("model_type")) own.set("model_type", "deberta-v2");
  return own;
}

std::string SpanSettings::tokenizer_folder() const {
  const std::string folder = path.substr(0, path.rfind('/'));
  const bool is_here =
      is_there(folder + "/tokenizer_config.json") || is_there(folder + "/tokenizer.json");
  return is_here ? folder : base_folder(*this, "the tokenizer's files are");
}

}  // namespace bert::models
