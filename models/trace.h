// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "engine/row_kernels.h"
#include "engine/thread_pool.h"
#include "models/bert_infer.h"

namespace bert::models {

// Called as the forward pass reaches each stage: "embeddings" [T, H], "layer.0" … [T, H], "pooler"
// [N, H], "logits" [N, C], "embedding" [N, H]. The values live only as long as the call.
using Trace =
    std::function<void(std::string_view stage, const float* values, int64_t rows, int64_t columns)>;

// One input through everything that the model has: the encoder, the pooler and the head if any, and
// the sentence embedding. For regression tests.
void run_traced(const Model& model, const Encoding& encoding, const Trace& trace);

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
