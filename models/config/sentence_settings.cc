// SPDX-License-Identifier: Apache-2.0
#include "models/config/sentence_settings.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "models/config/transformer_settings.h"

namespace bert::models {
namespace {

constexpr const char* kSentenceFeatures = "sentence_embedding";

struct PoolingName {
  Pooling pooling;
  const char *name, *flag;  // in "pooling_mode", and the field for it in older files
};
// In the order in which the flags' poolings are concatenated.
constexpr PoolingName kPoolings[] = {
    {Pooling::cls, "cls", "pooling_mode_cls_token"},
    {Pooling::max, "max", "pooling_mode_max_tokens"},
    {Pooling::mean, "mean", "pooling_mode_mean_tokens"},
    {Pooling::mean_sqrt_len, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    {Pooling::weighted_mean, "weightedmean", "pooling_mode_weightedmean_tokens"},
    {Pooling::last, "lasttoken", "pooling_mode_lasttoken"}};

std::vector<Pooling> read_pooling_flags(const JsonFile& file) {
  std::vector<Pooling> poolings;
  for (const auto& [pooling, name, flag] : kPoolings) {
    if (file.boolean(flag, false)) poolings.push_back(pooling);
  }
  for (const auto& [field, value] : file.root().items()) {
    if (!field.starts_with("pooling_mode_")) continue;
    if (std::ranges::find(kPoolings, field, &PoolingName::flag) != std::end(kPoolings)) continue;
    if (file.boolean(field, false))
      file.fail(field, "false: sentence-transformers has no such pooling");
  }
  if (poolings.empty()) {
    if (!file.boolean("pooling_mode_mean_tokens", true)) {
      file.fail("pooling_mode_mean_tokens", "true, as no other pooling_mode_ is");
    }
    return {Pooling::mean};
  }
  // If absent, older versions of sentence-transformers take it as true and newer ones as false.
  if (!file.find("pooling_mode_mean_tokens"))
    file.fail("pooling_mode_mean_tokens", "true or false");
  return poolings;
}

// Older files have flags instead of "pooling_mode": "mean" or ["cls", "mean"].
std::vector<Pooling> read_poolings(const std::string& path, int hidden) {
  const JsonFile file(path);
  for (const char* field : {"word_embedding_dimension", "embedding_dimension"}) {
    file.integer(field, hidden, hidden, hidden);
  }
  // As in Python, null is false.
  if (!file.boolean("include_prompt", !file.root().contains("include_prompt"))) {
    file.fail("include_prompt", "true");
  }
  const nlohmann::json* modes = file.find("pooling_mode");
  if (!modes) return read_pooling_flags(file);
  std::vector<Pooling> poolings;
  for (const nlohmann::json& mode : modes->is_array() ? *modes : nlohmann::json::array({*modes})) {
    const auto* const known =
        std::ranges::find_if(kPoolings, [&](const PoolingName& row) { return mode == row.name; });
    if (known == std::end(kPoolings)) {
      file.fail(
          "pooling_mode",
          "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken or an array of them");
    }
    poolings.push_back(known->pooling);
  }
  if (poolings.empty()) file.fail("pooling_mode", "at least one pooling");
  return poolings;
}

void expect_sentence_features(const std::string& path) {
  if (!is_there(path)) return;
  const JsonFile file(path);
  for (const char* field : {"module_input_name", "module_output_name"}) {
    if (file.text(field, kSentenceFeatures) != kSentenceFeatures) {
      file.fail(field, fmt::format("\"{}\"", kSentenceFeatures));
    }
  }
}

}  // namespace

SentenceModules::Dense read_dense(const std::string& directory, int64_t width,
                                  const std::string& features) {
  using engine::Activation;
  const std::pair<const char*, Activation> kFunctions[] = {
      {"torch.nn.modules.activation.Tanh", Activation::tanh},
      {"torch.nn.modules.linear.Identity", Activation::none},
      {"torch.nn.modules.activation.GELU", Activation::gelu},
      {"torch.nn.modules.activation.ReLU", Activation::relu},
      {"torch.nn.modules.activation.SiLU", Activation::silu}};
  const JsonFile file(directory + "/config.json");
  SentenceModules::Dense dense{directory, width, file.integer("out_features", 1, 1 << 20), true,
                               engine::Activation::none};
  file.integer("in_features", width, width);
  dense.residual = file.boolean("use_residual", false);
  for (const char* field : {"module_input_name", "module_output_name"}) {
    if (file.text(field, features) != features) file.fail(field, fmt::format("\"{}\"", features));
  }
  const std::string function = file.text("activation_function", kFunctions[0].first);
  const auto* const found =
      std::ranges::find(kFunctions, function, [](const auto& known) { return known.first; });
  if (found == std::end(kFunctions)) {
    file.fail("activation_function",
              "torch.nn.modules.linear.Identity or, of torch.nn.modules.activation, Tanh, GELU, "
              "ReLU or SiLU");
  }
  dense.activation = found->second;
  dense.has_bias = file.boolean("bias", true);
  return dense;
}

namespace {

// Another package's class of the same name may do anything. custom_st's comes with Jina's files: a
// Transformer that also takes an adapter's name. st_quantize's comes with Perplexity's.
std::string class_of(const std::string& type) {
  const bool known = type.starts_with("sentence_transformers.") ||
                     type == "custom_st.Transformer" || type == "st_quantize.FlexibleQuantizer" ||
                     type == "pylate.models.Dense.Dense";
  return known ? type.substr(type.rfind('.') + 1) : type;
}

bool leads_out(const std::string& folder) {
  const std::filesystem::path parts = folder;
  return parts.is_absolute() || std::ranges::count(parts, "..") > 0;
}

}  // namespace

// [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
//  {…, "path": "1_Pooling", "type": "….Pooling"}, {…, "path": "2_Dense", "type": "….Dense"},
//  {…, "path": "3_Normalize", "type": "….Normalize"}]
ModuleList::ModuleList(const std::string& directory) : path(directory + "/modules.json") {
  exists = is_there(path);
  if (!exists) return;
  const JsonFile file(path);
  if (!file.root().is_array()) throw std::runtime_error(path + ": expected an array of modules");
  for (const nlohmann::json& module : file.root()) {
    const size_t i = modules.size();
    if (!module.is_object() || !module.contains("type") || !module["type"].is_string() ||
        !module.contains("path") || !module["path"].is_string()) {
      fail(i, "expected an object with the strings 'type' and 'path'");
    }
    const auto type = module["type"].get<std::string>();
    const auto folder = module["path"].get<std::string>();
    if (leads_out(folder)) {
      fail(i, fmt::format("'path' is {}, expected a folder in the model's directory",
                          module["path"].dump()));
    }
    modules.push_back(
        {type, class_of(type), folder.empty() ? directory : directory + "/" + folder});
  }
  if (modules.size() == 1 && modules[0].name == "Router") {
    const std::string folder = std::move(modules[0].folder);
    read_routes(folder);
  }
}

// {"types": {"query_0_SparseStaticEmbedding": "….SparseStaticEmbedding", …},
//  "structure": {"query": ["query_0_SparseStaticEmbedding"], "document": ["…", "…"]},
//  "parameters": {"default_route": "document", "route_mappings": {}, …}}
void ModuleList::read_routes(const std::string& directory) {
  path = directory + "/router_config.json";
  const JsonFile file(path);
  const JsonField structure = file.at("structure"), types = file.at("types");
  if (structure.members().size() != 2 || !structure.has("query") || !structure.has("document")) {
    structure.fail("the routes query and document");
  }
  const JsonField parameters = file.at("parameters");
  if (parameters.at("default_route").string() != "document") {
    parameters.at("default_route").fail("\"document\"");
  }
  if (parameters.has("route_mappings") && !parameters.at("route_mappings").members().empty()) {
    parameters.at("route_mappings").fail("none");
  }
  const auto read = [&](const JsonField& id) -> Module {
    const std::string& folder = id.string();
    if (leads_out(folder)) id.fail("a folder in the model's directory");
    const std::string& type = types.at(folder).string();
    return {type, class_of(type), folder.empty() ? directory : directory + "/" + folder};
  };
  modules.clear();
  for (const JsonField& id : structure.at("document").elements()) modules.push_back(read(id));
  const std::vector<JsonField> query = structure.at("query").elements();
  if (query.size() != 1 || read(query[0]).name != "SparseStaticEmbedding") {
    structure.at("query").fail("SparseStaticEmbedding alone");
  }
  query_table = read(query[0]).folder;
}

namespace {

bool holds_transformer(const ModuleList::Module& module) {
  return module.name.ends_with("Transformer") || module.name == "CLIPModel";
}

}  // namespace

std::string transformer_folder(const std::string& directory) {
  const ModuleList list(directory);
  if (list.modules.empty()) return directory;
  return holds_transformer(list.modules[0]) ? list.modules[0].folder : directory;
}

void expect_transformer(const std::string& directory) {
  const ModuleList list(directory);
  if (list.modules.empty() || holds_transformer(list.modules[0])) return;
  if (is_there(directory + "/config.json")) return;
  list.fail(0, fmt::format("'type' is '{}', expected Transformer", list.modules[0].type));
}

bool ModuleList::has(std::string_view name) const {
  return std::ranges::find(modules, name, &Module::name) != modules.end();
}

void ModuleList::fail(size_t i, const std::string& reason) const {
  throw std::runtime_error(fmt::format("{}: module {}: {}", path, i, reason));
}

void ModuleList::refuse(size_t i, const char* expected) const {
  fail(i, fmt::format("'type' is '{}', expected {}, in this order", modules[i].type, expected));
}

namespace {

// As CLIP does, without a Pooling module.
void take_text_state(const Config& config, SentenceModules& modules) {
  const auto& [is_first, end, columns] = *config.text_state;
  modules.configured = true;
  modules.poolings = {is_first ? Pooling::cls : Pooling::end};
  modules.end_token = end;
  if (columns == 0) return;
  modules.dense.push_back({.directory = {},
                           .width = modules.columns,
                           .columns = columns,
                           .has_bias = false,
                           .activation = engine::Activation::none,
                           .tensor = config.family->text_projection});
  modules.columns = columns;
}

}  // namespace

SentenceModules read_sentence_modules(const std::string& directory, const Config& config,
                                      bool has_head) {
  SentenceModules modules;
  // As sentence-transformers has it, going by is_causal, which Gemma's mask does not depend on.
  const bool is_gemma = config.family->model_type == std::string_view("gemma3_text");
  if (config.is_causal_lm && (config.is_causal || is_gemma)) modules.poolings = {Pooling::last};
  if (config.embeds_first) modules.poolings = {Pooling::cls};
  modules.columns = config.output;
  if (config.text_state) take_text_state(config, modules);
  const ModuleList list(directory);
  if (!list.exists) return modules;
  for (size_t i = 0; i < list.modules.size(); ++i) {
    const auto& [type, name, folder] = list.modules[i];
    if (name == "Pooling" && i == 1) {
      modules.poolings = read_poolings(folder + "/config.json", config.output);
      modules.dense.clear();
      modules.columns = config.output * std::ssize(modules.poolings);
      modules.configured = true;
    } else if (name == "FlexibleQuantizer" && modules.configured && i + 1 == list.modules.size()) {
      modules.to_int8 = true;
    } else if (name == "Dense" && modules.configured && !modules.normalize) {
      modules.dense.push_back(read_dense(folder, modules.columns, kSentenceFeatures));
      modules.columns = modules.dense.back().columns;
    } else if (name == "Normalize" && modules.configured && !modules.normalize) {
      modules.normalize = true;
      expect_sentence_features(folder + "/config.json");
    } else if (!(i == 0 && (name == "Transformer" || (name == "CLIPModel" && config.text_state))) &&
               !(name == "LogitScore" && !config.score_tokens.empty())) {
      list.refuse(i, "Transformer, Pooling and optionally Dense and Normalize");
    }
  }
  const bool is_cross_encoder =
      has_head && (list.modules.size() == 1 || !config.score_tokens.empty());
  if (!modules.configured && !is_cross_encoder) {
    list.fail(list.modules.size(), "missing, expected Pooling");
  }
  const std::string settings = directory + "/config_sentence_transformers.json";
  if (!is_there(settings)) return modules;
  const JsonFile file(settings);
  // Another class has other modules by default.
  constexpr const char* kClass = "SentenceTransformer";
  if (modules.configured && file.text("model_type", kClass) != kClass) {
    file.fail("model_type", fmt::format("{}, as {} has Pooling", kClass, list.path));
  }
  const int64_t cut = file.integer("truncate_dim", 1, INT_MAX, modules.columns);
  if (cut < modules.columns) modules.columns = *(modules.truncate_to = cut);
  return modules;
}

std::optional<JsonFile> read_sentence_settings(const std::string& directory) {
  const ModuleList list(directory);
  if (!list.exists) return std::nullopt;
  const std::string folder = transformer_folder(directory);
  for (const char* name :
       {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const std::string path = fmt::format("{}/sentence_{}_config.json", folder, name);
    if (!is_there(path)) continue;
    JsonFile file(path);
    check_transformer_settings(file, list);
    return file;
  }
  return std::nullopt;
}

Prompts read_prompts(const std::string& directory) {
  Prompts prompts;
  const std::string path = directory + "/config_sentence_transformers.json";
  if (!is_there(path)) return prompts;
  const JsonFile file(path);
  if (const nlohmann::json* named = file.find("prompts")) {
    if (!named->is_object()) file.fail("prompts", "an object of strings");
    for (const auto& [name, prompt] : named->items()) {
      if (!prompt.is_string() && !prompt.is_null()) {
        file.fail("prompts", fmt::format("a string under '{}'", name));
      }
      prompts.by_name[name] = prompt.is_null() ? "" : prompt.get<std::string>();
    }
  }
  prompts.default_name = file.text("default_prompt_name", "");
  if (!prompts.default_name.empty() && !prompts.by_name.contains(prompts.default_name)) {
    file.fail("default_prompt_name", "the name of one of 'prompts'");
  }
  return prompts;
}

std::string default_prompt(const std::string& directory) {
  const Prompts prompts = read_prompts(directory);
  return prompts.default_name.empty() ? "" : prompts.by_name.at(prompts.default_name);
}

}  // namespace bert::models
