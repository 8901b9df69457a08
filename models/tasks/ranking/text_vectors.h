// SPDX-License-Identifier: Apache-2.0
//
// The vectors of queries and documents, of the kind that the model has, and how they compare.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model_impl.h"

namespace bert::models {

// Only one of the first three is filled: embeddings if the model has them.
struct TextVectors {
  Output embeddings;  // [N, F], of length 1 for the cosine
  std::vector<SparseVector> sparse;
  std::vector<Output> of_tokens;
  struct Size {
    int32_t tokens;
    bool truncated;
  };
  std::vector<Size> sizes;  // [N]
};
TextVectors vectors_of(const Internals::Impl& model, Role role, std::span<const std::string> texts);

// scores [Q, N] of every query with every document. documents.sizes is not read.
void compare(const Internals::Impl& model, const TextVectors& queries, const TextVectors& documents,
             engine::Tensor scores);

}  // namespace bert::models
