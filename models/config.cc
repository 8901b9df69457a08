// SPDX-License-Identifier: Apache-2.0
#include "models/config.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "models/json_file.h"
#include "models/weight_file.h"

namespace bert::models {
namespace {

// Keeps every product of sizes far from overflow; no published model comes near it.
constexpr int64_t kMost = 1 << 20;

struct Architecture {
  const char* name;
  Head head;
  std::vector<std::string> not_evaluated;
};

// The prefixes are the parts of the hub's checkpoints that a head of that name comes with.
const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> rows = {
      {"BertModel", Head::none, {}},
      {"BertForSequenceClassification", Head::classification, {}},
      {"BertForNextSentencePrediction", Head::next_sentence, {}},
      {"BertForPreTraining", Head::next_sentence, {"cls.predictions."}},
      {"BertForMaskedLM", Head::none, {"cls.predictions.", "cls.seq_relationship."}},
  };
  return rows;
}

// Adds to Google's configuration what transformers' has, by the weights beside it.
void complete(JsonFile& file, const std::string& directory) {
  const Weights weights = open_weights(directory);
  const auto find = [&](std::string_view name) {
    const StoredTensor* found = nullptr;
    for (const WeightFile& part : weights.files) found = found ? found : part.find(name);
    return found;
  };
  const StoredTensor* classifier = find("classifier.weight");
  const bool predictions = find("cls.predictions.bias"), next = find("cls.seq_relationship.weight");
  const char* architecture = predictions && next         ? "BertForPreTraining"
                             : predictions               ? "BertForMaskedLM"
                             : next                      ? "BertForNextSentencePrediction"
                             : find("qa_outputs.weight") ? "BertForQuestionAnswering"
                             : classifier                ? "BertForSequenceClassification"
                                                         : "BertModel";
  file.set("architectures", nlohmann::json::array({architecture}));
  if (classifier && !classifier->shape.empty()) file.set("num_labels", classifier->shape[0]);
}

const Architecture& read_architecture(const JsonFile& file) {
  if (const std::string type = file.text("model_type", "bert"); type != "bert") {
    file.fail("model_type", "\"bert\": this family is not supported");
  }
  std::string names;
  for (const Architecture& row : architectures()) names += std::string(", ") + row.name;
  const std::string expected = "one of " + names.substr(2) + " in an array";
  const nlohmann::json* value = file.find("architectures");
  if (!value || !value->is_array() || value->size() != 1 || !value->front().is_string()) {
    file.fail("architectures", expected);
  }
  for (const Architecture& row : architectures()) {
    if (value->front() == row.name) return row;
  }
  file.fail("architectures", expected);
}

engine::Activation read_activation(const JsonFile& file) {
  const std::string name = file.text("hidden_act", "gelu");
  if (name == "gelu") return engine::Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return engine::Activation::gelu_tanh;
  if (name == "relu") return engine::Activation::relu;
  file.fail("hidden_act", "gelu, gelu_new, gelu_pytorch_tanh or relu");
}

// id2label has the keys "0" … "C-1" in any order; without it there are num_labels labels, 2 by
// transformers' default.
std::vector<std::string> read_labels(const JsonFile& file) {
  const nlohmann::json* map = file.find("id2label");
  const int64_t count = file.integer("num_labels", 1, 1 << 20, map ? map->size() : 2);
  if (map && (!map->is_object() || map->empty() || static_cast<int64_t>(map->size()) != count)) {
    file.fail("id2label", fmt::format("an object with the model's {} labels", count));
  }
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = std::to_string(i);
    if (!map) {
      labels.push_back("LABEL_" + key);
    } else if (map->contains(key) && map->at(key).is_string()) {
      labels.push_back(map->at(key).get<std::string>());
    } else {
      file.fail("id2label", fmt::format("a string under the key \"{}\"", key));
    }
  }
  return labels;
}

// Where problem_type is absent transformers takes one label for a regression.
Scores read_scores(const JsonFile& file, size_t labels) {
  const std::string type =
      file.text("problem_type", labels == 1 ? "regression" : "single_label_classification");
  if (type == "multi_label_classification") return Scores::sigmoid;
  if (type == "regression") return Scores::raw;
  if (type == "single_label_classification") return labels == 1 ? Scores::raw : Scores::softmax;
  file.fail("problem_type",
            "single_label_classification, multi_label_classification or regression");
}

// What changes the forward pass and is not built must be as if it were not there.
void refuse_variants(const JsonFile& file) {
  if (file.text("position_embedding_type", "absolute") != "absolute") {
    file.fail("position_embedding_type", "\"absolute\"");
  }
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    if (file.boolean(field, false)) file.fail(field, "false: only encoders are supported");
  }
  const nlohmann::json* pruned = file.find("pruned_heads");
  if (pruned && !pruned->empty()) file.fail("pruned_heads", "none");
}

}  // namespace

Config read_config(const std::string& directory) {
  Config config;
  const std::string path = directory + "/config.json", google = directory + "/bert_config.json";
  const bool is_google = !file_exists(path) && file_exists(google);
  JsonFile file(is_google ? google : path);
  if (is_google && !file.find("architectures")) {
    complete(file, directory);
    config.notes.push_back(fmt::format("{}: names no architecture: the weights are those of {}",
                                       google, file.find("architectures")->front().dump()));
  }
  const Architecture& architecture = read_architecture(file);
  refuse_variants(file);

  config.architecture = architecture.name;
  config.head = architecture.head;
  config.not_evaluated = architecture.not_evaluated;
  const auto size = [&](const char* field, int64_t most = kMost) {
    return static_cast<int>(file.integer(field, 1, most));
  };
  config.layers = size("num_hidden_layers", 1000);
  config.hidden = size("hidden_size", 1 << 16);
  config.heads = size("num_attention_heads", 1 << 16);
  config.intermediate = size("intermediate_size");
  config.vocabulary = size("vocab_size", 1 << 24);
  config.positions = size("max_position_embeddings");
  config.types = static_cast<int>(file.integer("type_vocab_size", 1, kMost, 2));
  if (config.hidden % config.heads != 0) {
    file.fail("num_attention_heads",
              fmt::format("a divisor of 'hidden_size', which is {}", config.hidden));
  }
  config.norm_epsilon = static_cast<float>(file.number("layer_norm_eps", 1e-12));
  if (!(config.norm_epsilon >= 0 && config.norm_epsilon < 1)) {
    file.fail("layer_norm_eps", "a number from 0 to 1");
  }
  config.activation = read_activation(file);
  if (config.head == Head::classification) {
    config.labels = read_labels(file);
    config.scores = read_scores(file, config.labels.size());
  } else if (config.head == Head::next_sentence) {
    config.labels = {"IsNext", "NotNext"};  // Devlin et al. 2019, section 3.1
    config.scores = Scores::softmax;
  }
  return config;
}

}  // namespace bert::models
