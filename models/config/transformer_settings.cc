// SPDX-License-Identifier: Apache-2.0
#include "models/config/transformer_settings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace bert::models {
namespace {

// What is passed on to the classes that load the model, its configuration and its tokenizer, where
// it would overrule their files. These change no result: precision is --precision's, and nothing is
// padded.
constexpr std::string_view kIgnoredArguments[] = {"trust_remote_code",
                                                  "attn_implementation",
                                                  "_attn_implementation",
                                                  "torch_dtype",
                                                  "dtype",
                                                  "device_map",
                                                  "low_cpu_mem_usage",
                                                  "use_safetensors",
                                                  "add_pooling_layer",
                                                  "use_cache",
                                                  "unpad_inputs",
                                                  "use_memory_efficient_attention",
                                                  "use_fast",
                                                  "padding_side"};

void refuse_arguments(const JsonFile& file) {
  for (const char* field : {"model_args", "model_kwargs", "config_args", "config_kwargs",
                            "tokenizer_args", "processor_kwargs"}) {
    if (!file.has(field)) continue;
    for (const auto& [name, value] : file.at(field).members()) {
      if (value.is_null() || std::ranges::count(kIgnoredArguments, name) > 0) continue;
      value.fail("none: the model's own files have to say so");
    }
  }
  if (file.has("tokenizer_name_or_path")) file.fail("tokenizer_name_or_path", "none");
}

// The tasks whose output the modules after the transformer read.
std::vector<std::string> tasks_for(const ModuleList& list) {
  if (list.has("LogitScore")) return {"text-generation"};
  if (list.has("SpladePooling")) return {"fill-mask"};
  if (list.modules.size() > 1) return {"feature-extraction"};
  return {"feature-extraction", "sequence-classification"};
}

}  // namespace

void check_transformer_settings(const JsonFile& file, const ModuleList& list) {
  refuse_arguments(file);
  const std::string task = file.text(
      "transformer_task", list.has("MLMTransformer") ? "fill-mask" : "feature-extraction");
  const bool generates = task == "text-generation", extracts = task == "feature-extraction";
  const std::vector<std::string> tasks = tasks_for(list);
  if (std::ranges::count(tasks, task) == 0) {
    file.fail("transformer_task",
              fmt::format("{}, which the modules in {} read", fmt::join(tasks, " or "), list.path));
  }
  const nlohmann::json text = {{"method", "forward"},
                               {"method_output_name", extracts ? "last_hidden_state" : "logits"}};
  nlohmann::json expected = {{"text", text}};
  const nlohmann::json* modality = file.find("modality_config");
  // CLIP's method, besides which there is one for images.
  const bool embeds = extracts && modality && modality->contains("text") &&
                      (*modality)["text"].contains("method") &&
                      (*modality)["text"]["method"] == "get_text_features";
  if (generates && modality && modality->contains("message")) {
    (expected["message"] = text)["format"] = "flat";
  }
  if (modality && !embeds && *modality != expected) file.fail("modality_config", expected.dump());
  const nlohmann::json* value = file.find("processing_kwargs");
  const bool is_known = generates && value && value->is_object() && value->size() == 1 &&
                        value->contains("chat_template") && (*value)["chat_template"].is_object() &&
                        (*value)["chat_template"].size() == 1 &&
                        (*value)["chat_template"].contains("add_generation_prompt");
  if (value && !value->empty() && !is_known) {
    file.fail("processing_kwargs",
              generates ? R"({"chat_template": {"add_generation_prompt": true}} or none)" : "none");
  }
}

}  // namespace bert::models
