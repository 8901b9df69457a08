// SPDX-License-Identifier: Apache-2.0
//
// The families of models: what transformers calls their settings, tensors and heads. This data is
// all that the library knows about any of them by name.
#pragma once

#include <span>
#include <string_view>

namespace bert::models {

// The settings in config.json whose names differ between families.
struct SettingNames {
  const char *layers, *hidden, *heads, *intermediate, *activation, *default_activation;
};

// What follows the layer's name in the names of its tensors, without ".weight" and ".bias".
struct LayerNames {
  const char* layer;  // {}: the layer's number; in ALBERT the group's, then the layer's within it
  const char *query, *key, *value, *attention_output, *attention_norm, *intermediate, *output,
      *output_norm;
};

// What a head reads of the last hidden state.
enum class ReadBy {
  pooler,
  first,
  every
};  // the pooler's output; the first token's or every token's state

enum class HeadKind {
  classification,
  next_sentence,
  sentence_order,
  multiple_choice,
  token_classification,
  question_answering,
  masked_lm,
  replaced_token,
};

// logits = output(norm(activation(transform(rows)))). transform and norm are optional.
struct HeadRow {
  const char* suffix = "";  // of the architecture's name, after the family's `classes`
  HeadKind kind{};
  ReadBy reads = ReadBy::every;
  const char* transform = "";   // dense
  const char* activation = "";  // as in hidden_act; "": the model's own
  const char* norm = "";
  const char* output = "";  // dense; in masked_lm usually tied to the word embeddings
  const char* bias = "";    // of masked_lm's output
};

struct Family {
  const char* model_type;  // in config.json
  const char* classes;     // what its architectures' names begin with
  const char* prefix;      // of the encoder's tensors if there is a head
  SettingNames settings;
  LayerNames layer;
  const char* projection = "";    // dense, from the embedding width to the hidden size
  bool always_projected = false;  // even if the two are equal
  const char* pooler = "";        // dense
  bool has_types = true;
  bool has_norm_epsilon = true;  // layer_norm_eps; false: 1e-12, whatever config.json says
  // after_…: positions are counted from the padding token's id + 1, and padding tokens are skipped,
  // as in fairseq (Liu et al. 2019). That id is pad_token_id, or always 1.
  enum class Positions { from_0, after_pad_token, after_1 } positions = Positions::from_0;
  bool relative_keys = false;  // position_embedding_type may be relative_key and relative_key_query
  // The table of attention biases by bucketed distance (Raffel et al. 2020, T5).
  const char* relative_bias = "";
  std::span<const HeadRow> heads = {};
};

std::span<const Family> families();

}  // namespace bert::models
