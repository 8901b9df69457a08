// SPDX-License-Identifier: Apache-2.0
#include "models/config/config.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/config/adapter_task.h"
#include "models/config/families/find_family.h"
#include "models/config/families/position_settings.h"
#include "models/config/head_labels.h"
#include "models/config/other_keys.h"
#include "models/config/texts/logit_score.h"
#include "models/weights/json_file.h"
#include "models/weights/weight_file.h"

namespace bert::models {
namespace {

const std::pair<std::string_view, engine::Activation> kActivations[] = {
    {"gelu", engine::Activation::gelu},
    {"gelu_python", engine::Activation::gelu},
    {"gelu_new", engine::Activation::gelu_tanh},
    {"gelu_fast", engine::Activation::gelu_tanh},
    {"gelu_pytorch_tanh", engine::Activation::gelu_tanh},
    {"quick_gelu", engine::Activation::quick_gelu},
    {"relu", engine::Activation::relu},
    {"tanh", engine::Activation::tanh},
    {"silu", engine::Activation::silu},
    {"swish", engine::Activation::silu},
};
// Their names in the files of NomicBert, NeoBERT and T5, for gated networks.
const std::pair<std::string_view, engine::Activation> kGatedActivations[] = {
    {"swiglu", engine::Activation::silu},
    {"SwiGLU", engine::Activation::silu},
    {"gated-gelu", engine::Activation::gelu_tanh},
    {"gated-silu", engine::Activation::silu},
};

// Returns nullptr for an unknown name.
const engine::Activation* find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return &activation;
  }
  return nullptr;
}

engine::Activation read_layers_activation(const JsonFile& file, const Family& family) {
  const char* const field = family.settings.activation;
  const std::string name = file.text(field, family.settings.default_activation);
  for (const auto& [gated, activation] : kGatedActivations) {
    if (gated == name && family.gate != Gate::none) return activation;
  }
  if (family.gate != Gate::none && field == std::string_view("feed_forward_proj") &&
      !find_activation(name)) {
    file.fail(field, "gated-gelu or gated-silu");
  }
  return read_activation(file, field, family.settings.default_activation);
}

// Adds the architecture to a configuration that names none, judging by the tensors. For families
// other than BERT this works only if there is no head. A tensor "classifier" fits several
// architectures, so it decides nothing, except in Google's checkpoints, where it classifies
// sequences.
void add_architecture(JsonFile& file, const std::string& directory, const Family& family,
                      bool is_google) {
  const Weights weights = open_weights(directory);
  const auto find = [&](std::string_view name) {
    const StoredTensor* found = nullptr;
    for (const WeightFile& part : weights.files) found = found ? found : part.find(name);
    return found;
  };
  if (family.classes != std::string_view("Bert")) {
    const bool has_head = std::ranges::any_of(family.heads, [&](const HeadRow& head) {
      if (*family.unused_head && head.kind == HeadKind::masked_lm) return false;
      return find(std::string(head.output) + ".weight") || find(head.bias) ||
             find(std::string(head.transform) + ".weight");
    });
    if (has_head) return;
    return file.set("architectures",
                    nlohmann::json::array({family.classes + std::string(family.base)}));
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

// A publisher's own name, such as Contriever, means the encoder alone, as in transformers'
// AutoModel; tensors of a head are then unexpected. A name of transformers' means a head that is
// not supported, and with auto_map, the code that comes with it may do anything, unless it is the
// ColBERT library's own class.
void take_as_base(const JsonFile& file, const JsonField& name, const std::string& expected,
                  Config& config) {
  const auto is_of = [&](const Family& family) {
    return config.architecture.starts_with(family.classes);
  };
  const bool is_by_code = file.has("auto_map") && config.architecture != "HF_ColBERT";
  if (std::ranges::any_of(families(), is_of) || is_by_code) name.fail(expected);
  const std::string base = config.family->classes + std::string(config.family->base);
  config.notes.push_back(fmt::format("{}: {} is treated as a {}, going by its model_type",
                                     file.path(), config.architecture, base));
  config.custom_name = std::exchange(config.architecture, base);
}

// A GLiNER has a few tokens more than its encoder's settings may say.
int64_t stored_vocabulary(const std::string& directory, const Family& family) {
  const std::string name = kSpanEncoderPrefix + std::string(family.embeddings.words);
  const Weights weights = open_weights(directory);
  for (const WeightFile& file : weights.files) {
    const StoredTensor* words = file.find(name);
    if (words && !words->shape.empty()) return words->shape[0];
  }
  throw std::runtime_error(fmt::format("{}: tensor '{}' is missing", weights.path, name));
}

// Either "BertModel", the encoder alone, or "Bert" and the suffix of one or two heads.
void read_architecture(const JsonFile& file, Config& config) {
  const Family& family = *config.family;
  const std::string classes = family.classes;
  std::set<std::string> names = {classes + family.base};
  const std::string other = *family.other_class  ? family.other_class
                            : *family.other_base ? classes + family.other_base
                                                 : classes + family.base;
  names.insert(other);
  for (const HeadRow& head : family.heads) names.insert(classes + head.suffix);
  const std::string expected = fmt::format("one of {}", fmt::join(names, ", "));
  if (!file.has("architectures")) file.fail("architectures", expected);
  const JsonField field = file.at("architectures");
  const std::vector<JsonField> elements = field.elements();
  if (elements.size() != 1) {
    field.fail_with(fmt::format("its length is {}, expected 1: {}", elements.size(), expected));
  }
  config.architecture = elements[0].string();
  if (!names.contains(config.architecture)) take_as_base(file, elements[0], expected, config);
  if (*family.other_base && config.architecture == other) {
    config.architecture = classes + family.base;
    config.is_causal_lm = true;
  }
  for (const HeadRow& head : family.heads) {
    if (classes + head.suffix == config.architecture) config.heads_on_top.push_back(&head);
  }
}

// A causal language model with sentence-transformers' LogitScore, which reads the last token of
// all, has one label.
void read_score(JsonFile& file, const std::string& directory, Config& config) {
  if (!config.is_causal_lm) return;
  config.score_tokens = read_score_tokens(directory, config.vocabulary);
  if (config.score_tokens.empty()) return;
  config.architecture = config.family->classes + std::string(kLogitScore.suffix);
  config.heads_on_top = {&kLogitScore};
  config.pad_token = -1;
  file.set("id2label", {{"0", "LABEL_0"}});
  file.set("num_labels", 1);
}

// Published checkpoints often still contain the heads that the model was pre-trained with, beside
// another or none. If an adapter brings its own head, no other is evaluated.
void find_not_evaluated(Config& config) {
  if (!config.custom_name.empty()) return;
  const auto& heads = config.heads_on_top;
  const bool predicts = std::ranges::any_of(
      heads, [](const HeadRow* head) { return head->kind == HeadKind::masked_lm; });
  if (*config.family->unused_head) config.not_evaluated.emplace_back(config.family->unused_head);
  for (const HeadRow& head : config.family->heads) {
    const bool predicts_tokens =
        head.kind == HeadKind::masked_lm || head.kind == HeadKind::replaced_token;
    const bool compares_sentences =
        head.kind == HeadKind::next_sentence || head.kind == HeadKind::sentence_order;
    const bool is_unused = compares_sentences || (predicts_tokens && !predicts);
    if (!is_unused && !config.has_new_head) continue;
    if (std::ranges::count(heads, &head)) continue;
    for (const char* name :
         {head.widen, head.transform, head.norm, head.output, head.more_columns}) {
      if (*name) config.not_evaluated.push_back(std::string(name) + '.');
    }
    if (*head.bias) config.not_evaluated.emplace_back(head.bias);
  }
}

// In transformers, any model's file may say whether tokens attend to later ones. It is read for
// language models, which usually don't.
void refuse_causality(const JsonFile& file, const Config& config) {
  constexpr const char* kField = "is_causal";
  if (*config.family->other_base) return;
  const bool is_mixed = *config.family->decoder.layer;  // an encoder and a decoder
  if (is_mixed) return expect_absent(file, kField);
  if (file.boolean(kField, false)) file.fail(kField, "false: only encoders are supported");
}

// Settings that would change the forward pass in a way that is not supported must be off.
void refuse_variants(const JsonFile& file, const Config& config) {
  for (const HeadRow* head : config.heads_on_top) {
    if (!std::string_view(head->transform).starts_with("sequence_summary.")) continue;
    if (file.text("summary_type", "first") != "first") file.fail("summary_type", "\"first\"");
    if (!file.boolean("summary_use_proj", true)) file.fail("summary_use_proj", "true");
    if (file.text("summary_activation", "gelu") != "gelu") {
      file.fail("summary_activation", "\"gelu\"");
    }
  }
  if (file.integer("relative_attention_num_buckets", 1, kMaxConfigSize, 32) != 32) {
    file.fail("relative_attention_num_buckets", "32");
  }
  // T5's files have the last of these even for the encoder alone.
  const bool may_have_decoder =
      *config.family->decoder.layer || config.family->base == std::string_view("EncoderModel");
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    const bool is_first = field == std::string_view("is_decoder");
    const bool may_be = is_first
                            ? *config.family->other_base  // whose classes do not read it
                            : may_have_decoder && field == std::string_view("is_encoder_decoder");
    if (file.boolean(field, false) && !may_be) {
      file.fail(field, "false: only encoders are supported");
    }
  }
  refuse_causality(file, config);
  const nlohmann::json* pruned = file.find("pruned_heads");
  if (pruned && !pruned->empty()) file.fail("pruned_heads", "none");
}

// Where a family has names of its own, transformers lets the usual ones overrule them.
void expect_no_other_sizes(const JsonFile& file, const SettingNames& names) {
  for (const auto& [name, usual] :
       {std::pair(names.layers, "num_hidden_layers"), std::pair(names.hidden, "hidden_size"),
        std::pair(names.heads, "num_attention_heads")}) {
    if (std::string_view(name) == usual || !file.has(usual)) continue;
    const int64_t expected = file.integer(name, 1, kMaxConfigSize);
    if (file.integer(usual, 1, kMaxConfigSize) != expected) {
      file.fail(usual, fmt::format("{}, as {} is", expected, name));
    }
  }
}

void read_sizes(const JsonFile& file, Config& config) {
  const SettingNames& names = config.family->settings;
  expect_no_other_sizes(file, names);
  const auto size = [&](const char* field, int64_t max = kMaxConfigSize) {
    return static_cast<int>(file.integer(field, 1, max));
  };
  config.layers = size(names.layers, 1000);
  config.hidden = size(names.hidden, 1 << 16);
  config.heads = config.key_heads = size(names.heads, 1 << 16);
  config.intermediate = size(names.intermediate);
  config.vocabulary = size("vocab_size", 1 << 24);
  if (config.family->has_types) {
    const int least = config.family->position_type == PositionType::absolute ? 1 : 0;
    config.types = static_cast<int>(
        file.integer("type_vocab_size", least, kMaxConfigSize, config.family->default_types));
  }
  config.embedding = *config.family->projection ? size("embedding_size", 1 << 16) : config.hidden;
  config.decoder_width = config.embedding;
  config.output = config.hidden;
  if (*names.head_size && (!names.may_lack_head_size || file.has(names.head_size))) {
    config.head_size = size(names.head_size, 1 << 12);
  } else if (config.family->splits_hidden && config.hidden % config.heads != 0) {
    file.fail(names.heads, fmt::format("a divisor of '{}', which is {}",
                                       file.at(names.hidden).path(), config.hidden));
  } else {
    config.head_size = config.hidden / config.heads;
  }
  const auto& [epsilon, fallback] = config.family->norm_epsilon;
  config.norm_epsilon = static_cast<float>(*epsilon ? file.number(epsilon, fallback) : fallback);
  if (!(config.norm_epsilon >= 0 && config.norm_epsilon < 1)) {
    file.fail(epsilon, "a number of at least 0 and less than 1");
  }
  config.activation = read_layers_activation(file, *config.family);
}

// Each layer has its own weights, except in ALBERT: its layers form groups, and each layer of a
// group runs the same inner_group_num stored layers in turn (Lan et al. 2020).
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
  const int inner = config.inner_layers =
      static_cast<int>(file.integer("inner_group_num", 1, 1000, 1));
  for (int i = 0; i < groups * inner; ++i) {
    config.layer_names.push_back(fmt::format(fmt::runtime(pattern), i / inner, i % inner));
  }
  for (int i = 0; i < config.layers; ++i) {
    const int group = static_cast<int>(i / (static_cast<double>(config.layers) / groups));
    config.layer_order.push_back(group * inner);
  }
}

// Tables computed for positions are not in the files, so no file's size limits them.
void check_tables(const JsonFile& file, const Config& config) {
  const PositionType type = config.position_type;
  const bool by_head = type == PositionType::alibi || type == PositionType::relative_bias;
  const bool by_layer = type == PositionType::disentangled;
  const int64_t width = by_head             ? config.heads
                        : by_layer          ? config.layers
                        : config.sinusoidal ? config.embedding
                                            : 0;
  constexpr int64_t kMost = int64_t{1} << 26;
  if (width * config.positions <= kMost) return;
  file.fail("max_position_embeddings", fmt::format("at most {} with {} {}", kMost / width, width,
                                                   by_head    ? "heads"
                                                   : by_layer ? "layers"
                                                              : "numbers each"));
}

// transformers would apply it to the model that it names.
void refuse_adapter(const std::string& directory) {
  const std::string adapter = directory + "/adapter_config.json";
  if (!is_there(adapter)) return;
  throw std::runtime_error(
      adapter +
      ": this is an adapter: name the directory of its model as the model, and "
      "this directory as the adapter");
}

}  // namespace

engine::Activation read_activation(const JsonFile& file, const char* field,
                                   const std::string& usual) {
  if (const auto* found = find_activation(file.text(field, usual))) return *found;
  file.fail(field, "gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, tanh or silu");
}

Config read_config(const std::string& directory, const std::string& adapter) {
  refuse_adapter(directory);
  Config config;
  const std::string path = directory + "/config.json", google = directory + "/bert_config.json";
  const bool is_google = !is_there(path) && is_there(google);
  config.spans = read_span_settings(directory);
  JsonFile file = config.spans ? config.spans->encoder() : JsonFile(is_google ? google : path);
  config.path = config.spans ? config.spans->path : file.path();
  config.family = &find_family(file, directory);
  translate(file, *config.family);
  if (config.spans) {
    file.set("vocab_size", stored_vocabulary(directory, *config.family));
    file.set("architectures",
             nlohmann::json::array({config.family->classes + std::string(config.family->base)}));
  }
  config.adapter = choose_adapter(file, directory, adapter, config);
  config.has_new_head = set_adapter_task(file, *config.family, directory, config.adapter);
  if (const auto* named = file.find("architectures"); !named || named->empty()) {
    file.set("architectures", nullptr);
    add_architecture(file, directory, *config.family, is_google);
    if (const auto* found = file.find("architectures")) {
      config.notes.push_back(fmt::format("{}: names no architecture: its tensors are those of {}",
                                         file.path(), found->front().dump()));
    }
  }
  read_architecture(file, config);
  refuse_variants(file, config);
  read_sizes(file, config);
  read_positions(file, config);
  name_layers(file, config);
  config.gate = config.family->gate;
  config.tied = file.boolean("tie_word_embeddings", config.family->tied);
  if (config.family->read_more) config.family->read_more(file, config);
  read_score(file, directory, config);
  find_not_evaluated(config);
  for (const HeadRow* head : config.heads_on_top) {
    (head->reads == ReadBy::every ? config.by_token : config.by_sequence) =
        read_head_labels(file, directory, head->kind);
    config.head_activations[head] =
        *head->activation_key ? read_activation(file, head->activation_key, head->activation)
        : *head->activation   ? *find_activation(head->activation)
                              : config.activation;
  }
  const bool has_labels = std::ranges::any_of(config.heads_on_top, [](const HeadRow* head) {
    return head->kind == HeadKind::classification || head->kind == HeadKind::token_classification;
  });
  if (has_labels && config.score_tokens.empty()) note_label_ids(file, config.notes);
  check_tables(file, config);
  check_other_keys(file, config);
  if (config.spans) config.architecture = "GLiNER";
  return config;
}

}  // namespace bert::models
