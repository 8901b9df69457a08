// SPDX-License-Identifier: Apache-2.0
//
// Operations on single rows: norms and sums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/table.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Calls body for all rows, a block of them at a time.
void for_row_blocks(Team& team, int64_t rows,
                    const std::function<void(int64_t begin, int64_t end)>& body);

// LayerNorm (Ba, Kiros, Hinton 2016), or RMSNorm (Zhang and Sennrich 2019) if it is not centred:
// the mean then counts as 0. gamma and beta: [columns].
struct Norm {
  Buffer gamma, beta;
  float epsilon = 0;
  bool is_centred = true;
  bool normalises = true;  // if not, y = gamma x + beta: NoNorm (Sun et al. 2020)

  void run(const float* x, int64_t rows, float* y) const;  // [rows, columns]; y may be x
  void scale_and_shift(const float* x, int64_t rows, float* y) const;  // without normalising
};
void layer_norm(Team& team, ConstTensor x, const Norm& norm, Tensor y);  // y may be x
// The same in place for `count` columns of x from `first` on, a multiple of the norm's width; each
// part of that width is normalised as a row of its own.
void layer_norm_columns(Team& team, Tensor x, int64_t first, int64_t count, const Norm& norm);
// y = norm(y); x += y.
void add_layer_norm(Team& team, Tensor y, const Norm& norm, Tensor x);
void add(Team& team, ConstTensor x, Tensor y);   // y += x
void scale(Team& team, float factor, Tensor x);  // x *= factor

// y[t] = word[ids[t]] + position[positions[t]] + type[type_ids[t]]
struct EmbeddingTables {
  Table word;                  // [V, H]
  ConstTensor position, type;  // [positions, H], [types, H]
};
void embedding_sum(Team& team, const EmbeddingTables& tables, std::span<const int32_t> ids,
                   std::span<const int32_t> positions, std::span<const int32_t> type_ids, Tensor y);

}  // namespace bert::engine
