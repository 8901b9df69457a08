// SPDX-License-Identifier: Apache-2.0
//
// The encoder of Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", with
// the layers of Vaswani et al. 2017, and of BERT's relatives, whose differences are data in the
// Config. bert.cc follows the paper's section 3.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/attention.h"
#include "engine/attention/positions/rotary.h"
#include "engine/dense/linear.h"
#include "engine/rows/rows.h"
#include "engine/tensor.h"
#include "models/config/config.h"
#include "models/network/batch.h"
#include "models/network/trace.h"
#include "models/network/variants/bottleneck.h"
#include "models/network/variants/convolutions/convolution.h"
#include "models/network/variants/convolutions/short_convolution.h"
#include "models/network/variants/decoder.h"
#include "models/network/variants/dense_layer.h"
#include "models/network/variants/experts.h"
#include "models/network/variants/layer_inputs.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// Memory of one forward pass: grows to fit the largest batch and never shrinks.
struct Workspace {
  engine::Buffer x;              // [T, H]
  engine::Buffer embedded;       // [T, E], if E is not H; the last hidden state, if it is projected
  engine::Buffer wide;           // [T, 3H] for attention, then [T, I], or a part of these rows
  engine::Buffer context;        // [T, H]
  engine::Buffer normed;         // [T, H]: what a norm before or after a product writes
  engine::Buffer kept;           // [T, H]: embeddings or the encoder's output, for later layers
  engine::Buffer routed;         // [3 T, H]: the sums, inputs and outputs of experts
  engine::Buffer narrowed;       // [2 T, N], N here a bottleneck's width: what it passes on
  engine::Buffer scratch;        // for one call into the engine
  engine::Buffer probabilities;  // of attention, [A, S, S] for each sequence, if asked for
  engine::Buffer rows;           // [N, H]: what a head reads
  engine::Buffer pooled;         // [N, H]
  engine::Buffer transformed;    // [N, H] or [T, E], inside a head
  engine::Buffer logits;         // [N, C] or [T, C], or a part of these rows

  int64_t bytes() const {
    int64_t floats = 0;
    for (const engine::Buffer* buffer :
         {&x, &embedded, &wide, &context, &normed, &kept, &routed, &narrowed, &scratch,
          &probabilities, &rows, &pooled, &transformed, &logits}) {
      floats += buffer->size();
    }
    return floats * static_cast<int64_t>(sizeof(float));
  }
};

// embeddings.*
struct Embeddings {
  Embeddings(Checkpoint& checkpoint, const Config& config, const engine::Product& f32,
             engine::Team& team);
  // x [T, H] = LayerNorm of the sum of the word, position and type embeddings, projected from [T,
  // E] if E is not H. Some models scale the sum and do not normalise it.
  void run(const Batch& batch, engine::Team& team, Workspace& space, engine::Tensor x) const;
  // All but the projection.
  void look_up(const Batch& batch, engine::Team& team, engine::Tensor sum) const;
  // Takes the dropped tokens' embeddings out of the sum and scales the others'.
  void drop_tokens(const Batch& batch, engine::Team& team, engine::Tensor sum) const;
  // The same as run() for a model whose projection reads each token's neighbours, too; and the
  // projection alone.
  void run_with_neighbours(const Batch& batch, engine::Team& team, Workspace& space,
                           engine::Tensor x) const;
  void join_neighbours(const Batch& batch, engine::Team& team, Workspace& space,
                       engine::Tensor x) const;

  WeightTable word;  // [V, E]
  Weight position;   // [positions, E]
  Weight type;       // [types, E]
  float scale;
  int dropped_token;  // -1: none
  std::optional<engine::Norm> norm;
  bool embeds_neighbours;                    // position and type are then [., H]
  std::optional<engine::Linear> projection;  // [H, E], or of three tokens [H, 3E]
};

// How a layer knows where tokens are, besides the embeddings: by the encoder's parts or its own.
struct Positions {
  const engine::RelativeBias* bias = nullptr;     // added to the scores by distance
  std::optional<engine::RelativeKeys> keys = {};  // by distance, multiplied with queries and keys
  std::optional<engine::Disentangled> disentangled = {};
  bool uses_keys = false, uses_queries = false;  // which terms that has
  engine::ConstTensor distances = {};            // [2 span, H], from which its tables are made
  std::optional<engine::Linear> distance_keys = {},
                                distance_queries = {};  // unless shared with qkv
  const engine::Rotary* rotary = nullptr;               // rotates queries and keys
  int64_t window = 0;   // how far attention reaches to each side; 0: anywhere
  bool causal = false;  // attention does not reach later tokens
};

// encoder.layer.i.*
struct Layer {
  Layer(Checkpoint& checkpoint, const std::string& name, const Config& config,
        const engine::Products& products, size_t number, Positions positions, engine::Team& team);
  // The next hidden state, overwriting x [T, H]; with Reads::first only each sequence's first
  // token's, [N, H] in space.rows. Leaves attention's probabilities in the workspace if wanted.
  engine::Tensor run(const Batch& batch, engine::Team& team, engine::Reads reads,
                     bool probabilities, Workspace& space, engine::Tensor x) const;
  // The same for all tokens of an example, while int8 products are not packed yet: quantises each
  // just before it runs, for the inputs that it gets.
  engine::Tensor calibrate(const Batch& example, engine::Team& team, Workspace& space,
                           engine::Tensor x);

  // Makes the tables of disentangled positions with the layer's weights, once these are packed.
  void make_distance_tables(engine::Team& team);

  std::vector<DenseLayer> dense_layers() const;

  std::string name;
  const LayerNames& names;
  engine::Precision precision;
  int heads, key_heads;
  float attention_scale;  // as in AttentionOptions
  bool pre_norm;          // norms before attention and feed-forward, not after
  bool is_packed_qkv;     // in the checkpoint
  engine::Buffer sinks;   // [A], or none: as in AttentionOptions
  Gate gate;
  engine::Linear qkv;  // [3H, H], or less where heads share keys and values
  std::optional<engine::Norm> query_norm, key_norm, value_norm;
  Positions positions;
  std::optional<ShortConvolution> short_convolution;  // instead of attention
  engine::Linear attention_output;                    // [H, H]
  // Before or after attention and feed-forward; some models' first layer has none before attention.
  std::optional<engine::Norm> attention_norm, residual_norm, output_norm;
  std::optional<engine::Norm> attention_post_norm, output_post_norm;  // over what is added to x
  std::optional<CrossAttention> cross;   // in a decoder, after attention
  std::optional<Bottleneck> bottleneck;  // around attention and feed-forward: qkv is then [2N, N]
  std::optional<Experts> experts;        // instead of the next three, the feed-forward network
  std::optional<engine::Linear> intermediate,  // [I, H], the activation fused; the gate if gated
      up,                                      // [I, H], multiplied by the gate
      output;                                  // [H, I]
  int64_t slices = 1;                          // of the I columns, one computed after the other
  std::optional<LayerInputs> layer_inputs;

 private:
  // What a pass through the layer works with. before: called with each product and its inputs.
  struct Pass {
    const Batch& batch;
    engine::Team& team;
    Workspace& space;
    BeforeProduct before;
  };
  engine::AttentionOptions attention_options(engine::Reads reads, bool probabilities,
                                             const Workspace& space) const;
  // The steps of run() and calibrate(), in order.
  engine::Tensor forward(const Pass& pass, engine::Reads reads, bool probabilities,
                         int64_t rows_at_a_time, engine::Tensor x) const;
  engine::Tensor attend(const Pass& pass, engine::Reads reads, bool probabilities,
                        int64_t rows_at_a_time, engine::Tensor x) const;
  // run() of a layer with a bottleneck, and its steps.
  engine::Tensor run_narrowed(const Pass& pass, bool probabilities, int64_t rows_at_a_time,
                              engine::Tensor x) const;
  void narrow(const Pass& pass, const engine::Linear& product, const engine::Norm& norm,
              engine::Tensor x, engine::Tensor y) const;
  void attend_narrowed(const Pass& pass, bool probabilities, int64_t rows_at_a_time,
                       engine::Tensor x, engine::Tensor shared, engine::Tensor y) const;
  void run_networks(const Pass& pass, int64_t rows_at_a_time, engine::Tensor y) const;
  void attend_to_encoder(const Pass& pass, int64_t rows_at_a_time, engine::Tensor x) const;
  // Makes queries, keys and values [rows, columns] from row `row` of the batch on.
  using Project =
      std::function<void(int64_t row, std::span<const int32_t> starts, engine::Tensor states)>;
  // Projects and attends for sequences of about rows_at_a_time tokens at a time.
  void attend_by_groups(const Pass& pass, engine::AttentionOptions options, int64_t rows_at_a_time,
                        int64_t columns, const Project& project, engine::Tensor context) const;
  void feed_forward(const Pass& pass, int64_t rows_at_a_time, engine::Tensor x) const;
  void run_one_network(const Pass& pass, int64_t rows_at_a_time, engine::Tensor x) const;
  void run_experts(const Pass& pass, engine::Tensor x) const;
  void add_layer_inputs(const Pass& pass, engine::Tensor x) const;
  // norm(x) if norms come first, else x.
  engine::Tensor pre_normed(const std::optional<engine::Norm>& norm, const Pass& pass,
                            engine::Tensor x) const;
  // x += norm(inputs W^T + b), with one of the layer's products.
  void add_normed(const engine::Linear& product, const std::optional<engine::Norm>& norm,
                  const Pass& pass, engine::Tensor inputs, engine::Tensor x,
                  engine::Linear::Slice of_inputs) const;
  // Applies norms of queries and keys and rotary positions to qkv's output, states [T, 3H].
  void norm_and_rotate(std::span<const int32_t> starts, engine::Team& team,
                       engine::Tensor states) const;
};

// Copies x to `to`.
engine::Tensor copy(engine::Team& team, engine::ConstTensor x, engine::Buffer& to);

struct Encoder {
  // example: any inputs of the model's kind, on which int8 is calibrated. Each layer is calibrated
  // as soon as it is loaded, so that only one at a time is in memory as floats.
  Encoder(Checkpoint& checkpoint, const Config& config, const engine::Products& products,
          const Batch& example, engine::Team& team,
          const std::function<void(int loaded, int layers)>& progress);
  // The last hidden state: [T, F], or with Reads::first [N, F] of each sequence's first token, for
  // which alone the last layer is then computed.
  engine::Tensor run(const Batch& batch, engine::Team& team, engine::Reads reads, Workspace& space,
                     const Trace& trace) const;

  std::string int8_note() const;  // for users: how many inputs stay in f32

  engine::Precision precision;
  int hidden;
  Embeddings embeddings;
  std::unique_ptr<engine::RelativeBias> relative_bias;  // shared by all layers, or null
  std::vector<Layer> layers;                            // the distinct ones
  Weight distances;                                     // [2 span, H], or none
  std::optional<Convolution> convolution;
  std::vector<std::unique_ptr<engine::Rotary>>
      rotaries;            // for global layers; for those with a window
  std::vector<int> order;  // [L]: which of layers runs, or in ALBERT the first of a group
  int layers_per_group;    // 1, or ALBERT's inner_group_num
  std::optional<Decoder> decoder;
  std::optional<engine::Norm> final_norm;
  std::optional<engine::Linear> projection;  // [F, H], of the last hidden state

 private:
  void load_layers(Checkpoint& checkpoint, const Config& config, const engine::Products& products,
                   const Batch& example, engine::Team& team,
                   const std::function<void(int loaded, int layers)>& progress);
  Positions positions_of(size_t layer, Checkpoint& checkpoint, const Config& config,
                         const engine::Product& f32, engine::Team& team) const;
  // Whether the last layer must compute all rows, because what follows attention reads them.
  bool needs_all_rows() const {
    return (convolution && order.size() == 1) || layers.back().layer_inputs || decoder ||
           layers.back().bottleneck;
  }
  // The final norm and projection of x, the last layer's output, for the rows that are read.
  engine::Tensor finish(const Batch& batch, engine::Team& team, engine::Reads reads,
                        Workspace& space, engine::Tensor x) const;
  // Keeps the encoder's output x, and overwrites x with the embeddings of the decoder's tokens.
  void begin_decoder(const Batch& batch, engine::Team& team, Workspace& space,
                     engine::Tensor x) const;
  // Adds the convolution of the embeddings to the first layer's output x.
  void convolve(const Batch& batch, engine::Team& team, Workspace& space, engine::Tensor x) const;
};

}  // namespace bert::models
