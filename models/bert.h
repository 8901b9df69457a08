// SPDX-License-Identifier: Apache-2.0
//
// The encoder of Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", with
// the post-norm layers of Vaswani et al. 2017. Read bert.cc: it is the paper's section 3.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/linear.h"
#include "engine/rows.h"
#include "engine/tensor.h"
#include "models/batch.h"
#include "models/checkpoint.h"
#include "models/config.h"
#include "models/trace.h"

namespace bert::models {

// Memory of one forward pass: grows to the largest batch and stays.
struct Workspace {
  engine::Buffer x;          // [T, H]
  engine::Buffer wide;       // [T, 3H] and [T, H] until attention is done, then [T, I]
  engine::Buffer scratch;    // of one call into the engine
  engine::Buffer rows;       // [N, H] what a head reads
  engine::Buffer pooled;     // [N, H]
  engine::Buffer logits;     // [N, C]
};

// Dense layers name.weight [columns, width] and name.bias [columns], for each name, as one. Where
// they are stored in int8 they stay so, whatever the precision.
engine::Linear read_linear(Checkpoint& checkpoint, const std::vector<std::string>& names,
                           int64_t columns, int64_t width, engine::Activation activation,
                           engine::Precision precision, engine::ThreadPool& pool);

// embeddings.*
struct Embeddings {
  Embeddings(Checkpoint& checkpoint, const Config& config);
  // LayerNorm of the sum of the token's, its position's and its segment's rows.
  void run(const Batch& batch, engine::ThreadPool& pool, engine::Tensor x) const;

  Weight word;      // [V, H]
  Weight position;  // [positions, H]
  Weight type;      // [types, H]
  engine::Norm norm;
};

// encoder.layer.i.*
struct Layer {
  Layer(Checkpoint& checkpoint, const std::string& name, const Config& config,
        engine::Precision precision_of_products, engine::ThreadPool& pool);
  // The next hidden state, in place of x; with Reads::first only that of each sequence's first
  // token, [N, H] in space.rows.
  engine::Tensor run(const Batch& batch, engine::ThreadPool& pool, engine::Reads reads,
                     Workspace& space, engine::Tensor x) const;

  // The dense layers, and what those that each is made of are called below the layer's name.
  struct Dense {
    const std::vector<std::string>& names;
    const engine::Linear& linear;
  };
  std::vector<Dense> dense_layers() const;

  engine::Precision precision;
  int heads;
  engine::Linear qkv;               // [3H, H]
  engine::Linear attention_output;  // [H, H]
  engine::Norm attention_norm;
  engine::Linear intermediate;  // [I, H], the activation fused
  engine::Linear output;        // [H, I]
  engine::Norm output_norm;
  // Tokens a thread that the feed-forward takes at a time: all, but in int8 96, once it has learned
  // from all. Its products are so fast that [T, I] should not leave the cache before it is read
  // again (8x128: -8 %); in f32 reading weights again costs more than that saves.
  int64_t feed_forward_rows = INT32_MAX;
};

// Each sequence's first row of x [T, H], as [N, H] in space.rows.
engine::Tensor first_rows(const Batch& batch, engine::ConstTensor x, Workspace& space);

struct Encoder {
  // example: any inputs of the model's kind, from which int8 learns how its inputs are spread.
  Encoder(Checkpoint& checkpoint, const Config& config, engine::Precision precision_of_layers,
          const Batch& example, engine::ThreadPool& pool);
  // The last hidden state: [T, H], or [N, H] of each sequence's first token, which the last layer
  // is then computed for alone.
  engine::Tensor run(const Batch& batch, engine::ThreadPool& pool, engine::Reads reads,
                     Workspace& space, const Trace& trace) const;

  engine::Precision precision;
  int hidden;
  Embeddings embeddings;
  std::vector<Layer> layers;
};

}  // namespace bert::models
