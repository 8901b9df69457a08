// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "models/bert_infer.h"
#include "models/config/families.h"

namespace bert::models {

// How the encoder knows where a token stands.
enum class PositionType {
  absolute,            // a row of a table is added to the embedding (Devlin et al. 2019)
  relative_key,        // distances have a row that meets the query (Shaw et al. 2018),
  relative_key_query,  // or the query and the key (Huang et al. 2020)
};

// config.json, checked. Sizes are as DESIGN has them: H hidden, A heads and so on.
struct Config {
  const Family* family = nullptr;
  std::string architecture;
  std::vector<const HeadRow*> heads_on_top;  // at most one by sequence and one by token
  // Tensors that checkpoints of this architecture often have and that are not evaluated, by the
  // start of their names.
  std::vector<std::string> not_evaluated;

  int layers = 0, hidden = 0, heads = 0, intermediate = 0;
  int embedding = 0;  // width of the embedding tables
  int vocabulary = 0;
  int types = 0;           // 0: segments make no difference
  int positions = 0;       // the most tokens of an input
  int first_position = 0;  // of the position table
  int padding = -1;        // the token that has the position before that, or none
  PositionType position_type = PositionType::absolute;
  bool sinusoidal = false;  // positions may be computed instead of stored
  // Of the distinct layers in the checkpoint. Layer i is that of index layer_order[i] [L], and
  // those behind it where a layer consists of several.
  std::vector<std::string> layer_names;
  std::vector<int> layer_order;
  int layers_in_one = 1;
  float norm_epsilon = 0;
  engine::Activation activation = engine::Activation::gelu;

  bool tied = true;  // a masked language model's output shares the word embeddings

  // Of the logits of the head by sequence, and of that by token.
  struct Labels {
    std::vector<std::string> names;  // of masked_lm none: the vocabulary
    Scores scores = Scores::raw;
  };
  Labels by_sequence, by_token;
  const std::vector<std::string>& labels_of(const HeadRow& head) const {
    return head.reads == ReadBy::every ? by_token.names : by_sequence.names;
  }
  std::vector<std::string> notes;  // what was resolved and a user should know
};

// Where there is no config.json, Google's bert_config.json does: it names no architecture and no
// labels, which are then those of the tensors that are there.
Config read_config(const std::string& directory);

// As hidden_act spells it; nullptr where it is none.
const engine::Activation* find_activation(std::string_view name);

}  // namespace bert::models
