// SPDX-License-Identifier: Apache-2.0
#include "models/config/head_labels.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/weights/weight_file.h"

namespace bert::models {
namespace {

// id2label has the keys "0" … "C-1" in any order. Without it there are num_labels labels, by
// default 2, or BART's 3, as in transformers.
std::vector<std::string> read_labels(const JsonFile& file) {
  std::vector<std::string> labels;
  if (!file.has("id2label")) {
    const int64_t usual = file.text("model_type", "") == "bart" ? 3 : 2;
    const int64_t count = file.integer("num_labels", 1, kMaxConfigSize, usual);
    for (int64_t i = 0; i < count; ++i) labels.push_back("LABEL_" + std::to_string(i));
    return labels;
  }
  const JsonField map = file.at("id2label");
  const size_t count = map.members().size();
  if (count == 0) map.fail_with("found no labels, expected at least one");
  if (file.has("num_labels")) {  // transformers uses one or the other, depending on its version
    const auto size = static_cast<int64_t>(count);
    if (file.integer("num_labels", 1, kMaxConfigSize) != size) {
      file.fail("num_labels", fmt::format("{}, as many as id2label has", count));
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const JsonField label = map.at(std::to_string(i));
    if (!label.is_string() && !label.is_integer()) label.fail("a string or an integer");
    labels.push_back(label.is_string() ? label.string()
                                       : std::to_string(label.integer(INT64_MIN, INT64_MAX)));
  }
  return labels;
}

// "Sigmoid" of "torch.nn.modules.activation.Sigmoid".
std::string function_name(const JsonField& field) {
  std::string name = field.string();
  if (name.starts_with("torch.")) name = name.substr(name.rfind('.') + 1);
  if (name.empty() || name == "Sigmoid" || name == "Identity") return name;
  field.fail("torch.nn.modules.activation.Sigmoid or torch.nn.modules.linear.Identity");
}

// What sentence-transformers' CrossEncoder applies to the logits: Sigmoid or Identity, or "" if the
// files don't say. Its newest versions write a separate file, older ones two fields in config.json.
std::string read_cross_encoder_function(const JsonFile& file, const std::string& directory) {
  const std::string newest = directory + "/config_sentence_transformers.json";
  if (is_there(newest)) {
    const JsonFile own(newest);
    const std::string name =
        own.has("activation_fn") ? function_name(own.at("activation_fn")) : std::string();
    if (!name.empty()) return name;
  }
  if (file.has("sentence_transformers")) {
    const JsonField settings = file.at("sentence_transformers");
    if (settings.has("activation_fn")) return function_name(settings.at("activation_fn"));
  }
  const std::string oldest = "sbert_ce_default_activation_function";
  return file.has(oldest) ? function_name(file.at(oldest)) : "";
}

// As in transformers' pipelines and sentence-transformers' CrossEncoder: a single label gets a
// sigmoid unless the model is a regression or the function is Identity.
Scores read_scores(const JsonFile& file, const std::string& function, size_t labels) {
  if (function == "Sigmoid") return Scores::sigmoid;
  if (function == "Identity" && labels == 1) return Scores::raw;
  const std::string type = file.text("problem_type", "single_label_classification");
  if (type == "multi_label_classification") return Scores::sigmoid;
  if (type == "regression") return Scores::raw;
  if (type == "single_label_classification") {
    return labels == 1 ? Scores::sigmoid : Scores::softmax;
  }
  file.fail("problem_type",
            "single_label_classification, multi_label_classification or regression");
}

}  // namespace

void note_label_ids(const JsonFile& file, std::vector<std::string>& notes) {
  if (!file.has("id2label") || !file.has("label2id")) return;
  const nlohmann::json &names = *file.find("id2label"), &ids = *file.find("label2id");
  if (!names.is_object() || !ids.is_object()) return;
  const auto differs = [&](const auto& entry) {
    const nlohmann::json& id = entry.value();
    const auto same = names.find(id.is_string() ? id.get<std::string>() : id.dump());
    return same == names.end() || (*same != entry.key() && same->dump() != entry.key());
  };
  const auto entries = ids.items();
  if (std::none_of(entries.begin(), entries.end(), differs)) return;
  notes.push_back(
      fmt::format("{}: label2id does not say the same as id2label, which is used", file.path()));
}

Config::Labels read_head_labels(const JsonFile& file, const std::string& directory, HeadKind kind) {
  switch (kind) {
    case HeadKind::classification: {
      std::vector<std::string> labels = read_labels(file);
      const std::string function = read_cross_encoder_function(file, directory);
      const Scores scores = read_scores(file, function, labels.size());
      return {std::move(labels), scores, function == "Identity"};
    }
    case HeadKind::token_classification: {
      std::vector<std::string> labels = read_labels(file);
      std::optional<SpanTags> span_tags = read_span_tags(labels, directory);
      return {std::move(labels), Scores::softmax, false, std::move(span_tags)};
    }
    case HeadKind::next_sentence:  // Devlin et al. 2019, section 3.1
      return {{"IsNext", "NotNext"}, Scores::softmax};
    case HeadKind::sentence_order:  // Lan et al. 2020, section 3.1
      return {{"InOrder", "Swapped"}, Scores::softmax};
    case HeadKind::question_answering:
      return {{"start", "end"}, Scores::raw};
    case HeadKind::multiple_choice:
      return {{"choice"}, Scores::raw};
    case HeadKind::replaced_token:  // Clark et al. 2020, section 2
      return {{"replaced"}, Scores::sigmoid};
    case HeadKind::masked_lm:
      break;
  }
  return {{}, Scores::softmax};
}

}  // namespace bert::models
