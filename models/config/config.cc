// SPDX-License-Identifier: Apache-2.0
#include "models/config/config.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/json_file.h"
#include "models/weights/weight_file.h"

namespace bert::models {
namespace {

// Keeps every product of sizes far from overflow; no published model comes near it.
constexpr int64_t kMost = 1 << 20;

const std::pair<std::string_view, engine::Activation> kActivations[] = {
    {"gelu", engine::Activation::gelu},
    {"gelu_new", engine::Activation::gelu_tanh},
    {"gelu_pytorch_tanh", engine::Activation::gelu_tanh},
    {"relu", engine::Activation::relu},
    {"tanh", engine::Activation::tanh},
};

engine::Activation read_activation(const JsonFile& file, const SettingNames& names) {
  const std::string name = file.text(names.activation, names.default_activation);
  if (const engine::Activation* found = find_activation(name)) return *found;
  file.fail(names.activation, "gelu, gelu_new, gelu_pytorch_tanh, relu or tanh");
}

const Family& read_family(const JsonFile& file) {
  const std::string type = file.text("model_type", "bert");
  std::string known;
  for (const Family& family : families()) {
    if (family.model_type == type) return family;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.model_type);
  }
  file.fail("model_type", fmt::format("one of {}: other families are not supported", known));
}

// Adds to the configuration the architecture, by the weights beside it: of BERT; of others where
// they are the encoder alone. A classifier may be that of several; Google's is for whole inputs.
void complete(JsonFile& file, const std::string& directory, bool is_google) {
  const Weights weights = open_weights(directory);
  const auto find = [&](std::string_view name) {
    const StoredTensor* found = nullptr;
    for (const WeightFile& part : weights.files) found = found ? found : part.find(name);
    return found;
  };
  const Family& family = read_family(file);
  if (&family != families().data()) {  // the encoder alone, or nobody knows which head
    const bool has_head = std::ranges::any_of(family.heads, [&](const HeadRow& head) {
      return find(std::string(head.output) + ".weight") || find(head.bias) ||
             find(std::string(head.transform) + ".weight");
    });
    if (has_head) return;
    return file.set("architectures",
                    nlohmann::json::array({family.classes + std::string("Model")}));
  }
  const StoredTensor* classifier = find("classifier.weight");
  const bool predictions = find("cls.predictions.bias"), next = find("cls.seq_relationship.weight");
  if (classifier && !is_google) return;
  const char* architecture = predictions && next         ? "BertForPreTraining"
                             : predictions               ? "BertForMaskedLM"
                             : next                      ? "BertForNextSentencePrediction"
                             : find("qa_outputs.weight") ? "BertForQuestionAnswering"
                             : classifier                ? "BertForSequenceClassification"
                                                         : "BertModel";
  file.set("architectures", nlohmann::json::array({architecture}));
  if (classifier && !classifier->shape.empty()) file.set("num_labels", classifier->shape[0]);
}

// The encoder alone, or with the heads of that name.
void read_architecture(const JsonFile& file, Config& config) {
  const Family& family = *config.family;
  const std::string classes = family.classes;
  std::set<std::string> names = {classes + "Model"};
  for (const HeadRow& head : family.heads) names.insert(classes + head.suffix);
  const nlohmann::json* value = file.find("architectures");
  if (!value || !value->is_array() || value->size() != 1 || !value->front().is_string() ||
      !names.contains(value->front().get<std::string>())) {
    file.fail("architectures", fmt::format("one of {} in an array", fmt::join(names, ", ")));
  }
  config.architecture = value->front().get<std::string>();
  for (const HeadRow& head : family.heads) {
    if (classes + head.suffix == config.architecture) config.heads_on_top.push_back(&head);
  }
}

// What pre-training leaves in published checkpoints of an encoder alone, or of BERT and ALBERT with
// one of its two heads, whichever is named.
void find_not_evaluated(Config& config) {
  const auto& heads = config.heads_on_top;
  const bool predicts = std::ranges::any_of(
      heads, [](const HeadRow* head) { return head->kind == HeadKind::masked_lm; });
  if (!predicts && !heads.empty()) return;
  for (const HeadRow& head : config.family->heads) {
    const bool of_tokens =
        head.kind == HeadKind::masked_lm || head.kind == HeadKind::replaced_token;
    const bool of_sentences =
        head.kind == HeadKind::next_sentence || head.kind == HeadKind::sentence_order;
    if (!of_sentences && !(of_tokens && heads.empty())) continue;
    if (std::ranges::count(heads, &head)) continue;
    for (const char* name : {head.transform, head.norm, head.output}) {
      if (*name) config.not_evaluated.push_back(std::string(name) + '.');
    }
    if (*head.bias) config.not_evaluated.emplace_back(head.bias);
  }
}

// id2label has the keys "0" … "C-1" in any order; without it there are num_labels labels, 2 by
// transformers' default.
std::vector<std::string> read_labels(const JsonFile& file) {
  const nlohmann::json* map = file.find("id2label");
  if (map && (!map->is_object() || map->empty())) file.fail("id2label", "an object of labels");
  const int64_t count = map ? std::ssize(*map) : file.integer("num_labels", 1, 1 << 20, 2);
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = std::to_string(i);
    if (!map) {
      labels.push_back("LABEL_" + key);
    } else if (map->contains(key) && map->at(key).is_string()) {
      labels.push_back(map->at(key).get<std::string>());
    } else if (map->contains(key) && map->at(key).is_number_integer()) {
      labels.push_back(map->at(key).dump());
    } else {
      file.fail("id2label", fmt::format("a string or integer under the key \"{}\"", key));
    }
  }
  return labels;
}

// "torch.nn.modules.activation.Sigmoid", without what stands before the last name.
std::string function_of(const JsonFile& file, const std::string& field, std::string name) {
  if (name.starts_with("torch.")) name = name.substr(name.rfind('.') + 1);
  if (name.empty() || name == "Sigmoid" || name == "Identity") return name;
  file.fail(field, "torch.nn.modules.activation.Sigmoid or torch.nn.modules.linear.Identity");
}

// What sentence-transformers' CrossEncoder makes of the logits: Sigmoid or Identity, or "" where
// nothing says. Its newer versions write a file of their own.
std::string read_cross_encoder_function(const JsonFile& file, const std::string& directory) {
  const std::string newest = directory + "/config_sentence_transformers.json";
  if (file_exists(newest)) {
    const JsonFile own(newest);
    const std::string function = function_of(own, "activation_fn", own.text("activation_fn", ""));
    if (!function.empty()) return function;
  }
  const std::string older = "sbert_ce_default_activation_function", newer = "sentence_transformers";
  std::string field = older, function = file.text(older, "");
  if (const nlohmann::json* settings = file.find(newer)) {
    if (!settings->is_object()) file.fail(newer, "an object");
    const auto found = settings->find("activation_fn");
    if (found != settings->end() && !found->is_null()) {
      field = newer;
      if (!found->is_string()) file.fail(newer, "a string as its 'activation_fn'");
      function = found->get<std::string>();
    }
  }
  return function_of(file, field, function);
}

// As transformers' pipelines and sentence-transformers' CrossEncoder have it: one label's score is
// a sigmoid, unless it is said to be a regression's or to stay as it is.
Scores read_scores(const JsonFile& file, const std::string& directory, size_t labels) {
  const std::string function = read_cross_encoder_function(file, directory);
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

// What changes the forward pass and is not built must be as if it were not there.
void refuse_variants(const JsonFile& file, const Config& config) {
  for (const HeadRow* head : config.heads_on_top) {
    if (!std::string_view(head->transform).starts_with("sequence_summary.")) continue;
    if (file.text("summary_type", "first") != "first") file.fail("summary_type", "\"first\"");
    if (!file.boolean("summary_use_proj", true)) file.fail("summary_use_proj", "true");
    if (file.text("summary_activation", "gelu") != "gelu") {
      file.fail("summary_activation", "\"gelu\"");
    }
  }
  if (file.integer("relative_attention_num_buckets", 1, kMost, 32) != 32) {
    file.fail("relative_attention_num_buckets", "32");
  }
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    if (file.boolean(field, false)) file.fail(field, "false: only encoders are supported");
  }
  const nlohmann::json* pruned = file.find("pruned_heads");
  if (pruned && !pruned->empty()) file.fail("pruned_heads", "none");
}

void read_sizes(const JsonFile& file, Config& config) {
  const SettingNames& names = config.family->settings;
  const auto size = [&](const char* field, int64_t most = kMost) {
    return static_cast<int>(file.integer(field, 1, most));
  };
  config.layers = size(names.layers, 1000);
  config.hidden = size(names.hidden, 1 << 16);
  config.heads = size(names.heads, 1 << 16);
  config.intermediate = size(names.intermediate);
  config.vocabulary = size("vocab_size", 1 << 24);
  config.types =
      config.family->has_types ? static_cast<int>(file.integer("type_vocab_size", 1, kMost, 2)) : 0;
  config.embedding = *config.family->projection ? size("embedding_size", 1 << 16) : config.hidden;
  if (config.hidden % config.heads != 0) {
    file.fail(names.heads,
              fmt::format("a divisor of '{}', which is {}", names.hidden, config.hidden));
  }
  config.norm_epsilon = 1e-12f;
  if (config.family->has_norm_epsilon) {
    config.norm_epsilon = static_cast<float>(file.number("layer_norm_eps", 1e-12));
  }
  if (!(config.norm_epsilon >= 0 && config.norm_epsilon < 1)) {
    file.fail("layer_norm_eps", "a number of at least 0 and less than 1");
  }
  config.activation = read_activation(file, names);
}

void read_positions(const JsonFile& file, Config& config) {
  const auto rows = static_cast<int>(file.integer("max_position_embeddings", 1, kMost));
  if (config.family->positions != Family::Positions::from_0) {
    const bool named = config.family->positions == Family::Positions::after_pad_token;
    config.padding =
        named ? static_cast<int>(file.integer("pad_token_id", 0, config.vocabulary - 1, 1)) : 1;
    config.first_position = config.padding + 1;
    if (rows <= config.first_position) {
      file.fail("max_position_embeddings",
                fmt::format("more than {}, where positions begin", config.first_position));
    }
  }
  config.positions = rows - config.first_position;
  config.sinusoidal = file.boolean("sinusoidal_pos_embds", false);
  const std::string type = file.text("position_embedding_type", "absolute");
  if (type == "absolute") return;
  if (!config.family->relative_keys) file.fail("position_embedding_type", "absolute");
  if (type == "relative_key") {
    config.position_type = PositionType::relative_key;
  } else if (type == "relative_key_query") {
    config.position_type = PositionType::relative_key_query;
  } else {
    file.fail("position_embedding_type", "absolute, relative_key or relative_key_query");
  }
}

// Each layer has weights of its own, but for ALBERT's: its layers are in groups, all layers of a
// group share those of inner_group_num that are run one after the other (Lan et al. 2020).
void name_layers(const JsonFile& file, Config& config) {
  const std::string pattern = config.family->layer.layer;
  const bool grouped = pattern.find("{}") != pattern.rfind("{}");
  if (!grouped) {
    for (int i = 0; i < config.layers; ++i) {
      config.layer_names.push_back(fmt::format(fmt::runtime(pattern), i));
      config.layer_order.push_back(i);
    }
    return;
  }
  const auto groups = static_cast<int>(file.integer("num_hidden_groups", 1, config.layers, 1));
  const int inner = config.layers_in_one =
      static_cast<int>(file.integer("inner_group_num", 1, 1000, 1));
  for (int i = 0; i < groups * inner; ++i) {
    config.layer_names.push_back(fmt::format(fmt::runtime(pattern), i / inner, i % inner));
  }
  for (int i = 0; i < config.layers; ++i) {
    const int group = static_cast<int>(i / (static_cast<double>(config.layers) / groups));
    config.layer_order.push_back(group * inner);
  }
}

Config::Labels read_labels_of(const JsonFile& file, const std::string& directory, HeadKind kind) {
  switch (kind) {
    case HeadKind::classification: {
      std::vector<std::string> labels = read_labels(file);
      const Scores scores = read_scores(file, directory, labels.size());
      return {std::move(labels), scores};
    }
    case HeadKind::token_classification:
      return {read_labels(file), Scores::softmax};
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

}  // namespace

const engine::Activation* find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return &activation;
  }
  return nullptr;
}

Config read_config(const std::string& directory) {
  Config config;
  const std::string path = directory + "/config.json", google = directory + "/bert_config.json";
  const bool is_google = !file_exists(path) && file_exists(google);
  JsonFile file(is_google ? google : path);
  config.family = &read_family(file);
  if (const auto* named = file.find("architectures"); !named || named->empty()) {
    file.set("architectures", nullptr);
    complete(file, directory, is_google);
    if (const auto* found = file.find("architectures")) {
      config.notes.push_back(fmt::format("{}: names no architecture: the weights are those of {}",
                                         file.path(), found->front().dump()));
    }
  }
  read_architecture(file, config);
  find_not_evaluated(config);
  refuse_variants(file, config);
  read_sizes(file, config);
  read_positions(file, config);
  name_layers(file, config);
  config.tied = file.boolean("tie_word_embeddings", true);
  for (const HeadRow* head : config.heads_on_top) {
    (head->reads == ReadBy::every ? config.by_token : config.by_sequence) =
        read_labels_of(file, directory, head->kind);
  }
  return config;
}

}  // namespace bert::models
