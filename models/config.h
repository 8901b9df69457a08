// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/linear.h"
#include "models/bert_infer.h"

namespace bert::models {

// What stands on the encoder, and which logits run() gives.
enum class Head { none, classification, next_sentence };

// config.json of a model of type "bert", checked.
struct Config {
  std::string architecture;
  Head head = Head::none;
  // Tensors that the architecture has and this library does not evaluate, by the start of their
  // names.
  std::vector<std::string> not_evaluated;

  int layers = 0, hidden = 0, heads = 0, intermediate = 0;
  int vocabulary = 0, positions = 0, types = 0;
  float norm_epsilon = 0;
  engine::Activation activation = engine::Activation::gelu;

  std::vector<std::string> labels;  // of the head's logits
  Scores scores = Scores::raw;
  std::vector<std::string> notes;  // what was resolved and a user should know
};

// Where there is no config.json, Google's bert_config.json does: it names no architecture and no
// labels, which are then those of the tensors that are there.
Config read_config(const std::string& directory);

}  // namespace bert::models
