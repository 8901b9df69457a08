// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/dense/linear.h"
#include "models/bert_infer.h"
#include "models/config/extraction/span_settings.h"
#include "models/config/extraction/span_tags.h"
#include "models/config/families/families.h"
#include "models/weights/adapter.h"

namespace bert::models {

// config.json, validated.
struct Config {
  std::string path;  // of the file
  const Family* family = nullptr;
  std::string architecture;
  std::string adapter;                       // the one that is added to the weights, or ""
  std::string custom_name;                   // config.json's own name for the architecture, or ""
  std::vector<const HeadRow*> heads_on_top;  // at most one for sequences and one for tokens
  // Prefixes of the names of tensors that checkpoints of this architecture often contain but the
  // architecture does not use.
  std::vector<std::string> not_evaluated;

  int layers = 0, hidden = 0, heads = 0, intermediate = 0;
  int64_t head_size = 0;  // D
  int key_heads = 0;      // for keys and values, which several query heads may share
  struct HeadShape {
    int64_t size;
    int key_heads;
  };
  std::optional<HeadShape> global_heads;  // of layers without a window, if different
  HeadShape heads_of(size_t layer) const {
    if (short_convolutions.are_in(layer)) return {hidden / heads, heads};  // three parts of H
    if (global_heads && windows[layer] == 0) return *global_heads;
    return {head_size, key_heads};
  }
  // Some layers have a convolution instead of attention.
  struct ShortConvolutions {
    std::vector<bool> layers;  // [L], or none
    int taps = 0;
    bool is_causal = false;  // of earlier tokens alone, not of those on both sides
    // Whether tokens that cannot be attended to are zeros there, too; nothing: unknown.
    std::optional<bool> are_masked = true;
    bool are_in(size_t layer) const { return layer < layers.size() && layers[layer]; }
  } short_convolutions;
  const LayerNames& names_of(size_t layer) const {
    return short_convolutions.are_in(layer) ? *family->convolution_layer : family->layer;
  }
  // Of MobileBERT, whose layers work on a narrower state than the hidden state.
  struct Bottleneck {
    int width = 0;     // N; 0: there is none
    int networks = 1;  // feed-forward networks, one after the other
  } bottleneck;
  int inner_width() const { return bottleneck.width > 0 ? bottleneck.width : hidden; }
  // Embeddings are a dense layer of those of the token and its two neighbours, to which those of
  // the position and the segment are added only then.
  bool embeds_neighbours = false;
  int summed_width() const { return embeds_neighbours ? hidden : embedding; }
  int embedding = 0;     // width of the embedding tables
  int output = 0;        // width of the last hidden state
  int layer_inputs = 0;  // width of what each layer reads from the embeddings; 0: nothing
  int vocabulary = 0;
  int types = 0;           // 0: there are no token type embeddings
  int positions = 0;       // the maximal number of tokens in an input
  int first_position = 0;  // the row of the position table for the first token
  int padding = -1;        // the token id that gets row first_position - 1; -1: none
  int tasks = 0;           // kinds of tasks with an embedding; all inputs are of the first
  PositionType position_type = PositionType::absolute;
  bool sinusoidal = false;  // position embeddings may be computed instead of stored
  // layer_names: of the distinct layers in the checkpoint. Layer i of L runs inner_layers of them,
  // from index layer_order[i] on.
  std::vector<std::string> layer_names;
  std::vector<int> layer_order;
  int inner_layers = 1;
  // Layers from this one on are a decoder's, whose tokens are decoder_start and the input's but the
  // last; 0: there is no decoder.
  size_t first_decoder_layer = 0;
  int decoder_start = 0;
  bool decodes(size_t layer) const {
    return first_decoder_layer > 0 && layer >= first_decoder_layer;
  }
  float norm_epsilon = 0;
  bool is_rms_norm = false;  // norms do not subtract the mean
  bool normalises = true;    // if not, norms only scale and shift
  float gain_offset = 0;     // added to the norms' stored weights
  float embedding_scale = 1;
  int dropped_token = -1;     // its embedding is 0, and the others are rescaled; -1: none
  float attention_scale = 0;  // of the scores; 0: 1 / sqrt D
  float branch_scale = 1;     // of what attention and the feed-forward network add
  engine::Activation activation = engine::Activation::gelu;
  Gate gate = Gate::none;
  struct Biases {
    bool norm = true, qkv = true, attention_output = true, up = true, down = true;
    bool query_norm = true, final_norm = true;  // if norms have any; also of keys
    bool head = true, decoder = true;           // a head's transform's, and masked_lm's output's
    bool distance_key = true;
  } has_bias;
  int64_t head_width = 0;      // the outputs of a head's `widen`
  int64_t decoder_width = 0;   // of masked_lm's decoder: the embeddings', or RemBERT's own
  bool has_first_norm = true;  // the first layer has a norm before attention
  std::vector<int> windows;    // [L] or empty: how far attention reaches to each side; 0: anywhere
  bool is_causal = false;      // no token attends to later ones
  bool is_causal_lm = false;   // the architecture is that of one, ForCausalLM
  // Of such a model that scores pairs: the token whose logit is the score, and the one whose logit
  // is subtracted, if there is one.
  std::vector<int> score_tokens;
  // For rotary positions: radians per position, [D / 2]; layers with a window may have others.
  std::vector<float> frequencies, local_frequencies;
  // What a classifier reads: the first token's state, the mean of all tokens' states, the mean of
  // their transforms, or the state of the last token that is not pad_token.
  enum class ClassifierPooling {
    first,
    mean,
    late,
    last
  } classifier_pooling = ClassifierPooling::first;
  float logit_scale = 1;                 // of a classifier
  int pad_token = -1;                    // for `last`; -1: none
  int end_token = -1;                    // for `last`: its last occurrence instead; -1: none
  bool adds_positions = true;            // the position's embedding is added to the token's
  struct Distances {                     // for disentangled positions
    bool keys = false, queries = false;  // multiplied with queries; with keys
    bool shared = false;                 // made from the embeddings by qkv's weights
    bool normed = false;                 // the embeddings are normalised
    int64_t buckets = 0, most = 0;       // in each direction
  } distances;
  // Unless other files say otherwise, embeddings are the first token's state, and similarity their
  // dot product.
  bool embeds_first = false;
  // An embedding is one token's state: the first one's, or that of the first with the id `end`, or
  // if that is -1, of the first with the highest id. If `columns` is not 0, Family::text_projection
  // turns it into so many numbers.
  struct TextState {
    bool is_first = false;
    int end = -1;
    int columns = 0;
  };
  std::optional<TextState> text_state;
  int convolution = 0;  // in tokens, after the first layer; 0: none
  engine::Activation convolution_activation = engine::Activation::tanh;

  bool tied = true;  // the masked_lm head's decoder shares the word embeddings
  OwnAdapters adapters;
  bool has_new_head = false;  // it came with an adapter
  struct Experts {
    int64_t count = 0, chosen = 0;  // feed-forward networks, and how many a token takes
    size_t every = 0;  // layers 1, 1 + every, 1 + 2 every, ... have them, or if 1 all; 0: none
    bool among_chosen = false;  // a softmax over the chosen ones' scores, instead of over all
    // Gated ones multiply activation(min(gate, limit)) with up + 1, up within the limit.
    float limit = 0;
    bool are_in(size_t layer) const { return every > 0 && layer % every == 1 % every; }
  } experts;

  struct Labels {
    std::vector<std::string> names;  // empty for masked_lm, whose labels are the vocabulary
    Scores scores = Scores::raw;
    bool is_identity = false;  // what sentence-transformers' CrossEncoder applies to the logits
    std::optional<SpanTags> span_tags = {};  // of tokens
  };
  std::optional<SpanSettings> spans;  // of a GLiNER, which has this head alone
  Labels by_sequence, by_token;       // of the heads for sequences and for tokens
  const std::vector<std::string>& labels_of(const HeadRow& head) const {
    return head.reads == ReadBy::every ? by_token.names : by_sequence.names;
  }
  std::map<const HeadRow*, engine::Activation> head_activations;
  std::vector<std::string> notes;  // for users: what was inferred
};

// Far above any published model, and small enough that no product of sizes overflows.
inline constexpr int64_t kMaxConfigSize = 1 << 20;

// Reads config.json or else Google's bert_config.json, which names neither architecture nor labels:
// these are then inferred from the tensors. adapter: as in Options. Errors are std::runtime_error.
Config read_config(const std::string& directory, const std::string& adapter);

// The activation that a field names, with the names of hidden_act; `usual` if the field is missing.
engine::Activation read_activation(const JsonFile& file, const char* field,
                                   const std::string& usual);

}  // namespace bert::models
