// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/kernels/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"
#include "models/bert_infer.h"

namespace bert::models {

// Called as the forward pass reaches each stage: "embeddings" [T, H], "layer.0" … [T, H], "pooler"
// [N, H], "logits" [N, C] or of a head that answers for each token [T, C], "next_sentence" [N, 2]
// where there are both, "embedding" [N, F]. The values live only as long as the call.
using OnStage =
    std::function<void(std::string_view stage, const float* values, int64_t rows, int64_t columns)>;

// What a caller wants to see of a forward pass.
struct Trace {
  OnStage on_stage = nullptr;
  // By layer: whether there is a stage "attention.0" … before the layer's own, with the
  // probabilities of each sequence, [A, S, S], one behind the other.
  std::vector<bool> attention = {};

  bool wants_attention(size_t layer) const { return layer < attention.size() && attention[layer]; }
  void operator()(std::string_view stage, engine::ConstTensor x) const {
    if (on_stage) on_stage(stage, x.data, x.rows, x.columns);
  }
};

// One input through everything that the model has: the encoder, the pooler and the head if any, and
// the sentence embedding. For regression tests.
void run_traced(const Model& model, const Encoding& encoding, const OnStage& on_stage);

// What the model does for one batch of these encodings, and nothing of what run() and hidden() do
// around it: to time.
class Pass {
 public:
  Pass(const Model& model, std::span<const Encoding> encodings);
  ~Pass();
  void hidden();  // the last hidden state of every token
  void logits();  // the head's answers; only where the model has one
  engine::ThreadPool& pool();
  engine::Precision precision() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bert::models
