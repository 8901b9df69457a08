// SPDX-License-Identifier: Apache-2.0
//
// What is done row by row: norms and sums. The kernels are picked once, for the instruction
// set that oneDNN finds on this machine (so ONEDNN_MAX_CPU_ISA governs both).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// The best that this machine can run; both are picked once.
const RowKernels& row_kernels();
const TileKernels* tile_kernels();  // or null

// Every table that this build has and this machine can run, the best last.
std::span<const RowKernels* const> runnable_kernels();

// Ba, Kiros, Hinton 2016. gamma and beta: [columns].
struct Norm {
  Buffer gamma, beta;
  float epsilon = 0;
};
void layer_norm(ThreadPool& pool, ConstTensor x, const Norm& norm, Tensor y);  // y may be x

// y[t] = word[ids[t]] + position[positions[t]] + type[type_ids[t]]
struct EmbeddingTables {
  ConstTensor word, position, type;  // [V, H], [positions, H], [types, H]
};
void embedding_sum(ThreadPool& pool, const EmbeddingTables& tables, std::span<const int32_t> ids,
                   std::span<const int32_t> positions, std::span<const int32_t> type_ids, Tensor y);

}  // namespace bert::engine
