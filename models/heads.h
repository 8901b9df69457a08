// SPDX-License-Identifier: Apache-2.0
//
// What is read off the last hidden state.
#pragma once

#include <optional>
#include <string>

#include "models/bert.h"

namespace bert::models {

// tanh of a dense layer on each sequence's first token ([CLS]), first [N, H]. Its checkpoint name:
// pooler.dense.
struct Pooler {
  Pooler(Checkpoint& checkpoint, const Config& config, engine::ThreadPool& pool);
  // [N, H], in space.pooled.
  engine::Tensor run(engine::ThreadPool& pool, engine::ConstTensor first, Workspace& space) const;

  engine::Linear dense;  // [H, H]
};

// A dense layer on the pooler's output: classifier (sequence classification) or
// cls.seq_relationship (next sentence).
struct Classifier {
  Classifier(Checkpoint& checkpoint, const Config& config, engine::ThreadPool& pool);
  // [N, C], in space.logits.
  engine::Tensor run(engine::ThreadPool& pool, engine::ConstTensor pooled, Workspace& space) const;

  engine::Linear dense;  // [C, H]
};

// One vector a sequence, as a sentence-transformers directory configures it in modules.json,
// 1_Pooling/config.json and 2_Normalize.
struct Pooling {
  enum class Kind { cls, mean, max };
  Kind kind = Kind::mean;
  bool normalize = false;  // to Euclidean length 1
  bool configured = false;

  std::string description() const;
  engine::Reads reads() const {
    return kind == Kind::cls ? engine::Reads::first : engine::Reads::all;
  }
  // y [H] of the sequence whose rows of x are [begin, end): of its first one for cls.
  void run(engine::ConstTensor x, int64_t begin, int64_t end, float* y) const;
};
Pooling read_pooling(const std::string& directory, const Config& config);

}  // namespace bert::models
