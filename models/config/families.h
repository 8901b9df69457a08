// SPDX-License-Identifier: Apache-2.0
//
// What BERT's relatives call their settings, their tensors and their heads in transformers: data,
// and all that the library knows of any of them by name.
#pragma once

#include <span>
#include <string_view>

namespace bert::models {

// config.json's names of sizes that differ.
struct SettingNames {
  const char *layers, *hidden, *heads, *intermediate, *activation, *default_activation;
};

// Tensors of a layer, below its own name; each is followed by ".weight" and ".bias".
struct LayerNames {
  const char* layer;  // {}: the layer's number, or of ALBERT the group's and the layer's in it
  const char *query, *key, *value, *attention_output, *attention_norm, *intermediate, *output,
      *output_norm;
};

// What a head reads of the last hidden state.
enum class ReadBy { pooler, first, every };  // the pooler's output, the first token's, each token's

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

// logits = output(norm(activation(transform(rows)))). transform and norm may be left out.
struct HeadRow {
  const char* suffix = "";  // of the architecture's name, after the family's
  HeadKind kind{};
  ReadBy reads = ReadBy::every;
  const char* transform = "";   // dense
  const char* activation = "";  // as hidden_act spells it; "": the model's own
  const char* norm = "";
  const char* output = "";  // dense; of masked_lm its weights are the word embeddings,
  const char* bias = "";    // and this is the name of its bias
};

struct Family {
  const char* model_type;  // in config.json
  const char* classes;     // what its architectures' names begin with
  const char* prefix;      // of the encoder's tensors where there is a head
  SettingNames settings;
  LayerNames layer;
  const char* projection = "";    // dense, from the embeddings' size to the hidden size
  bool always_projected = false;  // even where both sizes are equal
  const char* pooler = "";        // dense
  bool has_types = true;
  bool has_norm_epsilon = true;  // layer_norm_eps; or 1e-12, whatever config.json says
  // Positions are counted from the padding token's id + 1, and padding tokens are not counted, as
  // fairseq does (Liu et al. 2019). The id is pad_token_id or always 1.
  enum class Positions { from_0, after_pad_token, after_1 } positions = Positions::from_0;
  bool relative_keys = false;  // position_embedding_type may be relative_key and relative_key_query
  // relative_attention_bias by distance, in buckets (Raffel et al. 2020, T5).
  const char* relative_bias = "";
  std::span<const HeadRow> heads = {};
};

std::span<const Family> families();

}  // namespace bert::models
