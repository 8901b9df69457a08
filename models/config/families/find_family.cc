// SPDX-License-Identifier: Apache-2.0
#include "models/config/families/find_family.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/weight_file.h"

namespace bert::models {
namespace {

// The class that auto_map has there, or "": "NomicBertConfig" of
// "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig".
std::string class_in_code(const JsonFile& file, const char* kind) {
  if (!file.has("auto_map") || !file.at("auto_map").has(kind)) return "";
  const std::string name = file.at("auto_map").at(kind).string();
  return name.substr(name.rfind('.') + 1);
}

bool is_known(const std::string& code) {
  return std::ranges::any_of(
      families(), [&](const Family& family) { return *family.code && family.code == code; });
}

// The configuration's class in the code on the hub that the directory names, or where that is
// transformers' own a known model's class, or "". JinaBert's files may have lost their auto_map in
// further training.
std::string custom_code(const JsonFile& file) {
  const std::string config = class_in_code(file, "AutoConfig");
  if (!config.empty()) return config;
  const std::string model = class_in_code(file, "AutoModel");
  if (is_known(model)) return model;
  const bool jina = file.text("model_type", "bert") == "bert" &&
                    file.text("_name_or_path", "").find("jina-bert-") != std::string::npos;
  return jina ? "JinaBertConfig" : "";
}

// The model_type of directories that leave it to the code.
const char* type_of_code(const std::string& code) {
  for (const Family& family : families()) {
    if (*family.code && family.code == code) return family.model_type;
  }
  return "bert";
}

bool stores(const Weights& weights, std::string_view ending) {
  return std::ranges::any_of(weights.files, [&](const WeightFile& file) {
    return std::ranges::any_of(
        file.tensors(), [&](const StoredTensor& tensor) { return tensor.name.ends_with(ending); });
  });
}

}  // namespace

const Family& find_family(const JsonFile& file, const std::string& directory) {
  const std::string code = custom_code(file), type = file.text("model_type", type_of_code(code));
  std::set<std::string> types, codes;
  std::vector<const Family*> rows;
  for (const Family& family : families()) {
    types.insert(family.model_type);
    if (family.model_type != type) continue;
    if (*family.code) codes.insert(family.code);
    if (code.empty() ? !family.needs_code : family.code == code) rows.push_back(&family);
  }
  if (!types.contains(type)) {
    file.fail("model_type",
              fmt::format("one of {}: other families are not supported", fmt::join(types, ", ")));
  }
  if (rows.empty()) {
    file.at("auto_map")
        .at(class_in_code(file, "AutoConfig").empty() ? "AutoModel" : "AutoConfig")
        .fail(fmt::format(
            "{}: code beside a model is never run",
            codes.empty() ? "none" : fmt::format("a known one, {}", fmt::join(codes, ", "))));
  }
  if (rows.size() == 1) return *rows.front();
  const Weights weights = open_weights(directory);
  const auto marked = std::ranges::find_if(
      rows, [&](const Family* row) { return !*row->mark || stores(weights, row->mark); });
  return marked == rows.end() ? *rows.back() : **marked;
}

void translate(JsonFile& file, const Family& family) {
  for (const auto& [stored, name] : family.aliases) {
    const nlohmann::json* value = file.find(stored);
    if (value && !file.has(name)) file.set(name, *value, stored);
  }
  if (*family.nested) {
    const std::string older = std::string(family.nested) + "_dict";
    const std::string nested = file.has(older) ? older : family.nested;
    file.find(family.nested);
    file.at(nested).members();  // an object
    const nlohmann::json settings = *file.find(nested);
    for (const auto& [field, value] : settings.items()) {
      if (field == "architectures" || field == "model_type") continue;
      file.set(field, value, fmt::format("{}.{}", nested, field));
    }
  }
  for (const auto& [name, value] : family.defaults) {
    if (!file.has(name)) file.set(name, value);
  }
}

}  // namespace bert::models
