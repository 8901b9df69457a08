// SPDX-License-Identifier: Apache-2.0
//
// Operations on single rows: norms and sums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Ba, Kiros, Hinton 2016. gamma and beta: [columns].
struct Norm {
  Buffer gamma, beta;
  float epsilon = 0;
};
void layer_norm(Team& team, ConstTensor x, const Norm& norm, Tensor y);  // y may be x
// The same in place for as many columns of x as the norm has, from `first` on.
void layer_norm_columns(Team& team, Tensor x, int64_t first, const Norm& norm);
void add(Team& team, ConstTensor x, Tensor y);  // y += x

// y[t] = word[ids[t]] + position[positions[t]] + type[type_ids[t]]
struct EmbeddingTables {
  ConstTensor word, position, type;  // [V, H], [positions, H], [types, H]
};
void embedding_sum(Team& team, const EmbeddingTables& tables, std::span<const int32_t> ids,
                   std::span<const int32_t> positions, std::span<const int32_t> type_ids, Tensor y);

}  // namespace bert::engine
