// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/weights/weight_file.h"

namespace bert::models {

// The adapters in a checkpoint for its own weights: Jina's files have one for each task.
struct OwnAdapters {
  std::vector<std::string> names;  // config.json's lora_adaptations
  double scale = 1;                // lora_alpha / lora_rank
};

// Where an adapter may come from.
struct AdapterSources {
  std::string directory;              // the model's
  std::vector<std::string> prefixes;  // of the encoder's tensors, such as "bert."
  OwnAdapters own;
};

// Adds an adapter to the weights, before they are read: the one of that name among the model's own,
// or the one in a folder as PEFT writes it (adapter_config.json with adapter_model.safetensors or
// .bin), looked for in the model's directory first, then in its folder adapters. Modules that it
// saves as a whole replace the model's. An empty name adds none. Anything but these and plain
// low-rank matrices is an error: std::runtime_error.
void apply_adapter(Weights& weights, const AdapterSources& sources, const std::string& name);

// The folder of PEFT's adapter of that name, if there is one.
std::optional<std::string> find_adapter(const std::string& directory, const std::string& name);
// How many outputs a module has that the adapter in `folder` saves as a whole; 0 if it does not.
int64_t rows_of_saved(const std::string& folder, const std::string& module);

}  // namespace bert::models
