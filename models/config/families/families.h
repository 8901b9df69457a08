// SPDX-License-Identifier: Apache-2.0
//
// The families of models: what transformers calls their settings, tensors and heads. This data is
// all that the library knows about any family by name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace bert::models {

class JsonFile;
struct Config;

// How the encoder learns a token's position.
enum class PositionType {
  absolute,            // a position embedding is added to the token's (Devlin et al. 2019)
  relative_key,        // scores add query · embedding of the distance (Shaw et al. 2018),
  relative_key_query,  // and key · embedding of the distance (Huang et al. 2020)
  rotary,              // queries and keys are rotated by angles (Su et al. 2021)
  alibi,               // scores fall linearly with the distance (Press et al. 2022)
  disentangled,        // queries and keys are multiplied with those of distances (He et al. 2021)
  relative_bias,       // scores add a number for the distance (Raffel et al. 2020)
};

// A gated feed-forward network multiplies activation(gate x) with up x (Shazeer 2020). Which rows
// of the tensor `intermediate` are the gate's: none, all (`up` is then a separate tensor), or the
// first or second half (the other half is up's).
enum class Gate { none, separate, first_half, second_half };

// The settings in config.json whose names differ between families.
struct SettingNames {
  const char *layers, *hidden, *heads, *intermediate, *activation, *default_activation;
  const char* head_size =
      "";  // optional: otherwise, and if a file may lack it, hidden size / heads
  bool may_lack_head_size = false;
};

// What follows the layer's name in its tensors' names, without ".weight" and ".bias".
struct LayerNames {
  const char* layer;  // {}: the layer's number; in ALBERT the group's, then the layer's within it
  const char *query = "", *key = "", *value = "", *attention_output, *attention_norm, *intermediate,
             *output, *output_norm;
  // The rest is optional.
  const char* qkv = "";  // query, key and value stacked, instead of the three
  const char *query_norm = "", *key_norm = "";  // over all heads' queries and keys at once,
  bool norms_heads = false;                     // or over each head's
  // Adds the layer's input to attention_norm's output once more, and normalises the sum.
  const char* residual_norm = "";
  const char* up = "";  // of a gated network, if not in `intermediate`
  // `qkv` has each head's query, key and value in a row; the two below are its only biases.
  bool qkv_by_heads = false;
  bool rotates_neighbours = false;  // rotary pairs in it are neighbours, not of two halves
  const char *query_bias = "", *value_bias = "";
  const char *distance_key = "", *distance_query = "";  // for disentangled positions
  // Norms of what attention and the feed-forward network add to the hidden state.
  const char *attention_post_norm = "", *output_post_norm = "";
  bool norms_values = false;     // each head's, by a norm without weights
  const char* sinks = "";        // of attention
  const char* convolution = "";  // instead of attention: its taps
  // Of feed-forward networks of which a token takes a few: the router's weights, and, stacked over
  // all networks, those from the hidden state and back to it, and their biases; or one bias for the
  // sum. [E I, H] both, or if is_stacked [E, H, 2 I], the gate's half first, and [E, I, H].
  struct ExpertNames {
    const char *router = "", *in = "", *out = "", *in_bias = "", *out_bias = "", *bias = "";
    bool is_stacked = false;
  } experts = {};
  // Of a decoder's layers: the attention to the encoder's output.
  const char *cross_query = "", *cross_key = "", *cross_value = "", *cross_output = "",
             *cross_norm = "";
};

// The names of the embeddings' tensors.
struct EmbeddingNames {
  const char* words = "embeddings.word_embeddings.weight";
  const char* same_words = "";                // where some files store it, too or instead
  const char* norm = "embeddings.LayerNorm";  // optional
  const char* positions = "embeddings.position_embeddings.weight";
};

// The decoder of an encoder-decoder model: its layers' names are the encoder's but for `layer`, and
// its word embeddings are the same.
struct DecoderNames {
  const char* layer = "";  // "": there is no decoder, or it is not evaluated
  const char *positions = "", *norm = "";
  const char* same_words = "";  // where files store them once more
};

// What a head reads from the last hidden state.
enum class ReadBy {
  pooler,              // the pooler's output
  first,               // the first token's state
  every,               // every token's state
  classifier_pooling,  // depends on the setting: see Config::ClassifierPooling
};

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

// logits = output(norm(activation(transform(rows)))), all but `output` optional. `widen` comes
// before transform, with the same activation.
struct HeadRow {
  const char* suffix = "";  // of the architecture's name, after the family's `classes`
  HeadKind kind{};
  ReadBy reads = ReadBy::every;
  const char* widen = "";           // dense, with Config::head_width outputs
  const char* transform = "";       // dense
  const char* activation = "";      // as in hidden_act; "": the model's own
  const char* activation_key = "";  // the setting that names it; activation is its default
  const char* norm = "";
  const char* output = "";  // dense; in masked_lm usually tied to the word embeddings
  bool has_bias = true;     // the output, except in masked_lm
  const char* bias = "";    // of masked_lm's output
  // Of masked_lm: the tensor [H - E, V] with the output's columns after the word embeddings'.
  const char* more_columns = "";
};

// A setting that some of a family's files store under another name.
struct Alias {
  const char *stored, *name;
};
// A setting that a family's files may leave out.
struct Default {
  const char* name;
  int value;
};

struct Family {
  const char* model_type;             // in config.json
  const char* classes;                // what its architectures' names begin with
  const char* base = "Model";         // what follows in the name of the encoder alone
  const char* other_base = "";        // what follows for a class whose head is not evaluated
  const char* other_class = "";       // that class's whole name, if it is another
  const char* prefix;                 // of the encoder's tensors, if there is a head
  const char* published_prefix = "";  // used by published code instead of transformers' prefix
  SettingNames settings;
  LayerNames layer;
  const LayerNames* convolution_layer = nullptr;  // of layers with a convolution, not attention
  EmbeddingNames embeddings = {};
  DecoderNames decoder = {};
  const char* projection = "";         // dense, from the embedding width to the hidden size
  bool always_projected = false;       // even if the two are equal
  bool splits_hidden = true;           // between the heads; otherwise read_more sets their size
  const char* pooler = "";             // dense
  const char* output_projection = "";  // dense without a bias, of the last hidden state
  const char* text_projection = "";    // likewise, of an embedding
  bool has_types = true;
  int default_types = 2;  // type_vocab_size
  struct NormEpsilon {
    const char* name = "layer_norm_eps";  // "": always the fallback, whatever config.json says
    double fallback = 1e-12;
  } norm_epsilon = {};
  // after_…: positions are counted from the padding token's id + 1, and padding tokens are skipped,
  // as in fairseq (Liu et al. 2019). That id is pad_token_id, or always 1.
  enum class Positions { from_0, after_pad_token, after_1 } positions = Positions::from_0;
  bool relative_keys = false;  // position_embedding_type may be relative_key and relative_key_query
  bool may_be_sinusoidal = false;  // by sinusoidal_pos_embds: computed if no table is stored
  // The table of attention biases by bucketed distance, possibly in addition to other positions.
  const char* relative_bias = "";
  std::span<const HeadRow> heads = {};
  // The configuration's class in code on the hub that some directories name in auto_map. The code
  // is never run. needs_code: without it, model_type means another family.
  const char* code = "";
  bool needs_code = false;
  const char* default_adapter = "";  // in the folder adapters/, if no other is named
  const char* unused_head = "";      // tensors in published files that no class uses
  const char* mark = "";  // a tensor that distinguishes this row from others of its model_type
  bool tied = true;       // tie_word_embeddings, unless the file says otherwise
  std::span<const Alias> aliases = {};
  std::span<const Default> defaults = {};
  // The field of config.json that holds the encoder's settings, where the model has other parts; in
  // its place, older files have another whose name ends in _dict.
  const char* nested = "";
  // Layers with norms before attention and feed-forward (Xiong et al. 2020) instead of after them,
  // and one at the end.
  bool pre_norm = false;
  const char* final_norm = "";
  Gate gate = Gate::none;
  PositionType position_type = PositionType::absolute;
  void (*read_more)(const JsonFile& file, Config& config) = nullptr;  // what a row cannot express

  std::vector<std::string> word_names() const {
    std::vector<std::string> names = {embeddings.words};
    for (const char* same : {embeddings.same_words, decoder.same_words}) {
      if (*same) names.emplace_back(same);
    }
    return names;
  }
  std::vector<std::string> prefixes() const {
    if (!*published_prefix) return {prefix};
    return {prefix, published_prefix};
  }
};

// All families. The rows live as long as the program.
std::span<const Family> families();
std::span<const Family> newer_families();  // some of them
std::span<const Family> language_model_families();
std::span<const Family> decoder_families();
std::span<const Family> lfm2_families();

}  // namespace bert::models
