// SPDX-License-Identifier: Apache-2.0
#include "models/weights/adapter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/tensor.h"
#include "models/weights/json_file.h"
#include "models/weights/pytorch/pytorch_file.h"
#include "models/weights/safetensors.h"

namespace bert::models {
namespace {

constexpr std::string_view kStart = "base_model.model.";  // of PEFT's tensors' names
// Ends the name of embeddings that PEFT stores beside what it adds to them.
constexpr std::string_view kBaseLayer = ".base_layer.weight";

// One of the two factors of what is added to a weight, as stored in its file.
struct Factor {
  const WeightFile* file = nullptr;
  const StoredTensor* tensor = nullptr;
};
struct Factors {
  Factor a, b;
};

std::optional<std::string> without_ending(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  return std::string(name.substr(0, name.size() - ending.size()));
}

void check_shape(const Factor& factor, const std::vector<int64_t>& shape) {
  const auto& [file, stored] = factor;
  const StoredTensor& tensor = *stored;
  if (tensor.shape == shape && is_float(tensor.dtype)) return;
  fail(file->path(), fmt::format("tensor '{}' is {} [{}], expected floats [{}]", tensor.name,
                                 dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "),
                                 fmt::join(shape, ", ")));
}

// `rows` rows of `columns` values from element `first` on, each `scale` times what is stored.
std::vector<float> read_factor(const Factor& factor, int64_t first, int64_t rows, int64_t columns,
                               bool is_transposed, double scale) {
  const auto& [file, tensor] = factor;
  file->check(*tensor);
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t from = is_transposed ? j * rows + i : i * columns + j;
      values[i * columns + j] = static_cast<float>(scale * tensor->at(first + from));
    }
  }
  engine::require_finite({values.data(), rows, columns},
                         fmt::format("{}: tensor '{}'", file->path(), tensor->name));
  return values;
}

// The weights' tensors by file, to which adapters are added.
class Target {
 public:
  explicit Target(Weights& weights) : weights_(weights) {
    for (WeightFile& file : weights.files) tensors_.push_back(file.tensors());
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // Which may be changed before any is looked for.
  std::vector<std::vector<StoredTensor>>& tensors() { return tensors_; }
  StoredTensor* find(const std::string& name) {
    if (places_.empty()) {
      for (auto& of_file : tensors_) {
        for (StoredTensor& tensor : of_file) places_.emplace(tensor.name, &tensor);
      }
    }
    const auto found = places_.find(name);
    return found == places_.end() || erased_.contains(name) ? nullptr : found->second;
  }
  void erase(const std::string& name) { erased_.insert(name); }
  void put_back() {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      std::erase_if(tensors_[i], [&](const auto& tensor) { return erased_.contains(tensor.name); });
      weights_.files[i].replace_tensors(std::move(tensors_[i]));
    }
  }

 private:
  Weights& weights_;
  std::vector<std::vector<StoredTensor>> tensors_;  // by file
  std::map<std::string, StoredTensor*> places_;
  std::set<std::string> erased_;
};

// An embedding's factors are A [rows, rank] and B [rank, columns], a dense layer's A [rank,
// columns] and B [rows, rank]; those of all adapters are stacked.
void add_own(StoredTensor& weight, const Factors& factors, int64_t adapter,
             const OwnAdapters& own) {
  const int64_t count = std::ssize(own.names), rows = weight.shape[0], columns = weight.shape[1];
  const bool is_embedding = weight.name.ends_with("_embeddings.weight");
  const Factor& left = is_embedding ? factors.a : factors.b;
  const Factor& right = is_embedding ? factors.b : factors.a;
  const auto& shape = right.tensor->shape;
  const int64_t rank = shape.size() == 3 ? shape[1] : 0;
  check_shape(right, {count, rank, columns});
  check_shape(left, {count, rows, rank});
  weight.addition = std::make_shared<const LowRank>(
      LowRank{rank, read_factor(left, adapter * rows * rank, rows, rank, false, own.scale),
              read_factor(right, adapter * rank * columns, rank, columns, false, 1)});
}

// Gives weights with adapters, "NAME.parametrizations.weight.original", their usual names, and
// removes the factors. adapter: the one to add, if any. Returns how many weights have adapters.
int use_own(Weights& weights, const OwnAdapters& own, std::optional<int64_t> adapter) {
  Target target(weights);
  std::map<std::string, Factors> factors;
  std::vector<std::pair<const WeightFile*, StoredTensor>> stored;
  for (size_t i = 0; i < weights.files.size(); ++i) {
    auto& of_file = target.tensors()[i];
    std::vector<StoredTensor> kept;
    for (StoredTensor& tensor : of_file) {
      const std::string name = tensor.name;
      if (const auto module = without_ending(name, ".parametrizations.weight.original")) {
        tensor.name = *module + ".weight";
        factors[*module];
        kept.push_back(std::move(tensor));
      } else if (name.find(".parametrizations.weight.0.lora_") != std::string::npos) {
        stored.emplace_back(&weights.files[i], std::move(tensor));
      } else {
        kept.push_back(std::move(tensor));
      }
    }
    of_file = std::move(kept);
  }
  for (const auto& [file, tensor] : stored) {
    const auto module = tensor.name.substr(0, tensor.name.find(".parametrizations."));
    const auto found = factors.find(module);
    const bool is_a = tensor.name.ends_with(".0.lora_A"), is_b = tensor.name.ends_with(".0.lora_B");
    if (found == factors.end() || (!is_a && !is_b)) {
      fail(weights.path, fmt::format("unexpected tensor '{}' of an adapter", tensor.name));
    }
    (is_a ? found->second.a : found->second.b) = {file, &tensor};
  }
  for (const auto& [module, of_module] : factors) {
    StoredTensor& weight = *target.find(module + ".weight");
    if (!of_module.a.tensor || !of_module.b.tensor) {
      fail(weights.path, fmt::format("tensor '{}.parametrizations.weight.0.lora_{}' is missing",
                                     module, of_module.a.tensor ? 'B' : 'A'));
    }
    if (weight.shape.size() != 2) fail(weights.path, module + ": adapters are for matrices");
    if (adapter) add_own(weight, of_module, *adapter, own);
  }
  target.put_back();
  return static_cast<int>(factors.size());
}

// PEFT's settings. Those that would change the result, apart from those read below, must be off;
// those that matter only in training, or bring tensors of their own, need no check here.
class PeftSettings {
 public:
  explicit PeftSettings(const std::string& folder) : file_(folder + "/adapter_config.json") {
    if (file_.text("peft_type") != "LORA") file_.fail("peft_type", "LORA");
    if (file_.text("bias", "none") != "none") file_.fail("bias", "none");
    for (const char* field : {"use_dora", "use_qalora", "fan_in_fan_out", "lora_bias"}) {
      if (file_.boolean(field, false)) file_.fail(field, "false");
    }
    for (const char* field : {"alpha_pattern", "layer_replication", "alora_invocation_tokens",
                              "arrow_config", "trainable_token_indices"}) {
      const nlohmann::json* value = file_.find(field);
      if (value && !value->empty()) {
        file_.fail(field,
                   "null: merge the adapter into its model, as PEFT's merge_and_unload does");
      }
    }
    // These take a part of each weight away when the adapter is loaded, too.
    if (file_.has("init_lora_weights") && file_.at("init_lora_weights").is_string()) {
      const std::string start = file_.text("init_lora_weights");
      for (const char* changing : {"pissa", "olora", "OLoRA", "corda", "loftq"}) {
        if (start.starts_with(changing)) {
          file_.fail("init_lora_weights", "true: merge the adapter into its model with PEFT");
        }
      }
    }
    if (file_.has("modules_to_save")) {
      for (const JsonField& each : file_.at("modules_to_save").elements()) {
        saved_.push_back(each.string());
      }
    }
    ranks_ = {file_.integer("r", 1, 1 << 16, 8)};
    if (file_.has("rank_pattern")) {
      for (const auto& [module, field] : file_.at("rank_pattern").members()) {
        ranks_.insert(field.integer(1, 1 << 16));
      }
    }
    alpha_ = file_.number("lora_alpha", 8);
    by_root_ = file_.boolean("use_rslora", false);  // Kalajdzievski 2023
  }
  // Whether a tensor belongs to a module that is saved as a whole: as in PEFT, a name's ending is
  // enough, so "classifier" covers "pre_classifier".
  bool saves(const std::string& tensor) const {
    return std::ranges::any_of(saved_, [&](const std::string& module) {
      return tensor.find(module + '.') != std::string::npos;
    });
  }
  void check_rank(const std::string& module, int64_t rank) const {
    if (ranks_.contains(rank)) return;
    file_.fail("r", fmt::format("{}, the rank of '{}'", rank, module));
  }
  double scale(int64_t rank) const {
    const auto r = static_cast<double>(rank);
    return alpha_ / (by_root_ ? std::sqrt(r) : r);
  }

 private:
  JsonFile file_;
  std::vector<std::string> saved_;
  std::set<int64_t> ranks_;  // of any module
  double alpha_ = 0;
  bool by_root_ = false;
};

WeightFile read_peft_weights(const std::string& folder) {
  const std::string path = folder + "/adapter_model.safetensors";
  const std::string older = folder + "/adapter_model.bin";
  return !is_there(path) && is_there(older) ? read_pytorch(older) : read_safetensors(path);
}

// Tensors are named as in the class that was trained: with or without the encoder's prefix, which
// may also be another one.
StoredTensor* find_named(Target& target, const std::string& name,
                         const std::vector<std::string>& prefixes) {
  std::vector<std::string> names = {name};
  for (const std::string& prefix : prefixes) {
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  }
  for (size_t i = 0, count = names.size(); i < count; ++i) {
    for (const std::string& prefix : prefixes) names.push_back(prefix + names[i]);
  }
  for (const std::string& each : names) {
    if (StoredTensor* const found = target.find(each)) return found;
  }
  return nullptr;
}

// A dense layer's factors are lora_A.weight [rank, columns] and lora_B.weight [rows, rank], an
// embedding's lora_embedding_A [rank, rows] and lora_embedding_B [columns, rank].
void add_peft(StoredTensor& weight, const Factors& factors, bool is_embedding,
              const PeftSettings& settings) {
  const auto& [a, b] = factors;
  const int64_t rows = weight.shape[0], columns = weight.shape[1];
  const int64_t rank = a.tensor->shape.empty() ? 0 : a.tensor->shape[0];
  check_shape(a, {rank, is_embedding ? rows : columns});
  check_shape(b, {is_embedding ? columns : rows, rank});
  settings.check_rank(weight.name, rank);
  const Factor &left = is_embedding ? a : b, &right = is_embedding ? b : a;
  weight.addition = std::make_shared<const LowRank>(
      LowRank{rank, read_factor(left, 0, rows, rank, is_embedding, settings.scale(rank)),
              read_factor(right, 0, rank, columns, is_embedding, 1)});
}

// Adds a file with the modules that are saved as a whole, under the names of the model's tensors
// that they replace. names: of the tensors.
void replace_saved(Weights& weights, WeightFile file, const std::set<std::string>& names,
                   const std::vector<std::string>& prefixes) {
  std::vector<StoredTensor> tensors = file.tensors();
  std::erase_if(tensors, [&](const StoredTensor& each) { return !names.contains(each.name); });
  Target target(weights);
  for (StoredTensor& tensor : tensors) {
    tensor.name.erase(0, kStart.size());
    if (const auto module = without_ending(tensor.name, kBaseLayer)) {
      tensor.name = *module + ".weight";
    }
    if (const StoredTensor* const old = find_named(target, tensor.name, prefixes)) {
      tensor.name = old->name;
      target.erase(tensor.name);
      continue;
    }
    for (const std::string& prefix : prefixes) {
      if (tensor.name.starts_with(prefix)) tensor.name.erase(0, prefix.size());
    }
  }
  target.put_back();
  file.replace_tensors(std::move(tensors));
  weights.files.push_back(std::move(file));
}

int use_peft(Weights& weights, const std::string& folder, const AdapterSources& sources) {
  const PeftSettings settings(folder);
  const WeightFile file = read_peft_weights(folder);
  weights.added = {folder + "/adapter_config.json"};
  std::set<std::string> saved;
  std::map<std::pair<std::string, bool>, Factors> factors;  // by module; true: an embedding
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string_view name = tensor.name;
    const auto is = [&](std::string_view ending, bool is_embedding, Factor Factors::*factor) {
      const auto module = without_ending(name, ending);
      if (!module || !name.starts_with(kStart)) return false;
      factors[{module->substr(kStart.size()), is_embedding}].*factor = {&file, &tensor};
      return true;
    };
    if (!is(".lora_A.weight", false, &Factors::a) && !is(".lora_B.weight", false, &Factors::b) &&
        !is(".lora_embedding_A", true, &Factors::a) &&
        !is(".lora_embedding_B", true, &Factors::b)) {
      const bool is_saved = settings.saves(tensor.name) || name.ends_with(kBaseLayer);
      if (name.starts_with(kStart) && is_saved) {
        saved.insert(tensor.name);
        continue;
      }
      fail(file.path(),
           fmt::format("unexpected tensor '{}', expected LoRA factors only", tensor.name));
    }
  }
  if (saved.empty()) {
    weights.added.push_back(file.path());
  } else {
    replace_saved(weights, read_peft_weights(folder), saved, sources.prefixes);
  }
  Target target(weights);
  for (const auto& [key, of_module] : factors) {
    const auto& [module, is_embedding] = key;
    if (!of_module.a.tensor || !of_module.b.tensor) {
      fail(file.path(), fmt::format("'{}' has only one of its two factors", module));
    }
    StoredTensor* const weight = find_named(target, module + ".weight", sources.prefixes);
    if (!weight || weight->shape.size() != 2) {
      fail(file.path(),
           fmt::format("the model has no matrix '{}.weight', which the adapter adds to", module));
    }
    if (dtype_size(weight->dtype) < 2) {
      fail(weights.path, fmt::format("tensor '{}' is {}, which an adapter cannot be added to",
                                     weight->name, dtype_name(weight->dtype)));
    }
    add_peft(*weight, of_module, is_embedding, settings);
  }
  if (factors.empty()) fail(file.path(), "no tensors");
  target.put_back();
  return static_cast<int>(factors.size());
}

}  // namespace

std::optional<std::string> find_adapter(const std::string& directory, const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const std::string& folder :
       {directory + "/" + name, directory + "/adapters/" + name, name}) {
    if (is_there(folder + "/adapter_config.json")) return folder;
  }
  return std::nullopt;
}

int64_t rows_of_saved(const std::string& folder, const std::string& module) {
  const WeightFile file = read_peft_weights(folder);
  const StoredTensor* const weight = file.find(fmt::format("{}{}.weight", kStart, module));
  return weight && !weight->shape.empty() ? weight->shape[0] : 0;
}

void apply_adapter(Weights& weights, const AdapterSources& sources, const std::string& name) {
  const auto& names = sources.own.names;
  const auto own = std::ranges::find(names, name);
  std::optional<int64_t> chosen;
  if (own != names.end()) chosen = own - names.begin();
  const int with_own = names.empty() ? 0 : use_own(weights, sources.own, chosen);
  int adapted = with_own;
  if (name.empty()) {
    if (with_own > 0) {
      weights.notes.push_back(fmt::format("{}: the adapters {} are not applied unless one is named",
                                          weights.path, fmt::join(names, ", ")));
    }
    return;
  }
  if (!chosen) {
    const auto folder = find_adapter(sources.directory, name);
    if (!folder) {
      fail(sources.directory,
           fmt::format("adapter '{}' is unknown, expected {}a folder with adapter_config.json",
                       name, names.empty() ? "" : fmt::format("{} or ", fmt::join(names, ", "))));
    }
    adapted = use_peft(weights, *folder, sources);
  } else if (with_own == 0) {
    fail(weights.path,
         fmt::format("holds no adapters, but config.json names {}", fmt::join(names, ", ")));
  }
  weights.notes.push_back(fmt::format("adapter {}: added to {} weights", name, adapted));
}

}  // namespace bert::models
