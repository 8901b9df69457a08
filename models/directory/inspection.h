// SPDX-License-Identifier: Apache-2.0
//
// What the project's own tools and tests can see of a model beyond its public API.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/threads/scheduler.h"
#include "models/bert_infer.h"
#include "models/network/bert.h"
#include "models/network/trace.h"

namespace bert::models {

// Runs one input through everything the model has: the encoder, the pooler, the heads and the
// sentence embedding. For regression tests.
void run_traced(const Model& model, const Encoding& encoding, const OnStage& on_stage);

// The implementation of the layers' products: "oneDNN 3.7 micro-kernels", "panels for avx512", ...
std::string product_of(const Model& model);

// The adapter that is added to the weights, as it was named or chosen; "": none.
std::string adapter_of(const Model& model);

// How many segments its type_ids may name; 0: it ignores them.
int segments_of(const Model& model);

bool truncates_left(const Model& model);  // what does not fit

// Whether embed()'s vectors have length 1 already.
bool normalizes(const Model& model);

// Whether the labels of tokens mark whole spans: O, and B-, I-, E- and S- of each kind.
bool marks_spans(const Model& model);

// What the embedding layer adds up for one input of S tokens; E is the width of its tables, or in
// MobileBERT, whose `word` is the product of three tokens' embeddings, H.
struct EmbeddingParts {
  std::vector<int32_t> rows;    // [S]: of the position table
  Output word, position, type;  // [S, E]; empty if there is no such table
  Output normed;                // [S, E]: LayerNorm of the sum, if the model has one
  bool projected = false;       // the first layer's width is not E
};
EmbeddingParts embedding_parts(const Model& model, const Encoding& encoding);

// The rows of the position table, beginning with an input's first token, [P, E], and their origin.
struct PositionTable {
  std::string kind;  // "learned", "sinusoidal", or what the model has instead: "rotary", ...
  Output rows;       // empty unless positions are added to tokens
};
PositionTable position_table(const Model& model);

// The computation of one batch without the planning and copying that Model::run() and hidden() do
// around it. For timing.
class Pass {
 public:
  Pass(const Model& model, std::span<const Encoding> encodings);
  void hidden();  // the last hidden state of every token
  void logits();  // of the head by sequence, which the model must have
  engine::Scheduler& scheduler() const;
  engine::Precision precision() const;
  std::string product() const;  // as product_of()
  // Whether matrix tiles multiply in f32, by weights that are bf16: with half as many products.
  bool halves_on_tiles() const;
  // For hidden() or logits(): the multiplications and additions in the layers' products and in
  // attention, and the bytes of weights that they read.
  struct Work {
    double operations = 0, bytes = 0;
  };
  Work work(bool logits) const;

 private:
  Model model_;
  Batch batch_;
  Workspace space_;
};

}  // namespace bert::models
