// SPDX-License-Identifier: Apache-2.0
//
// Sentence embeddings: the last hidden state pooled and passed through sentence-transformers'
// modules.
#pragma once

#include <string>
#include <vector>

#include "models/config/sentence_settings.h"
#include "models/network/bert.h"
#include "models/network/retrieval/dense_module.h"

namespace bert::models {

// Each sequence's first row of x [T, H], as [N, H] in space.rows.
engine::Tensor first_rows(const Batch& batch, engine::ConstTensor x, Workspace& space);
// What a classifier reads of each sequence, unless it is `late`, as [N, H]. x: [T, H] or, for
// `first`, also [N, H].
engine::Tensor classified_rows(const Config& config, Config::ClassifierPooling pooling,
                               const Batch& batch, engine::Tensor x, engine::Team& team,
                               Workspace& space);
// The mean of each sequence's rows.
engine::Tensor mean_rows(const Batch& batch, engine::ConstTensor x, engine::Team& team,
                         Workspace& space);

// Divides each row by its Euclidean length, except rows of zeros.
void normalize_rows(engine::Tensor y);

class SentenceEmbedding {
 public:
  // Loads the weights of the dense modules.
  SentenceEmbedding(SentenceModules modules, Checkpoint& checkpoint, const engine::Product& f32,
                    engine::Team& team);

  std::string description() const;                            // "cls, normalised"
  bool is_configured() const { return modules_.configured; }  // by modules.json
  bool normalizes() const { return modules_.normalize; }
  int64_t columns() const { return modules_.columns; }  // F
  // Which rows of the last hidden state run() needs.
  engine::Reads reads() const {
    const bool first = modules_.poolings == std::vector{Pooling::cls};
    return first ? engine::Reads::first : engine::Reads::all;
  }
  // [N, F] in the workspace. x: the last hidden state, [T, H] for Reads::all, [N, H] for first.
  engine::Tensor run(const Batch& batch, engine::Reads reads, engine::Tensor x, engine::Team& team,
                     Workspace& space) const;

 private:
  SentenceModules modules_;
  std::vector<DenseModule> dense_;  // of modules_.dense
};

}  // namespace bert::models
