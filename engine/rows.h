// SPDX-License-Identifier: Apache-2.0
//
// What is done row by row: norms, sums, attention. The kernels are picked once, for the instruction
// set that oneDNN finds on this machine (so ONEDNN_MAX_CPU_ISA governs both).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

const RowKernels& row_kernels();

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

// Multi-head self-attention over packed sequences (Vaswani et al. 2017, section 3.2): for each
// sequence and head softmax(q k^T / sqrt D) v. Sequence i owns rows [starts[i], starts[i + 1]), and
// no token sees another sequence's: there is nothing to mask.
//   qkv: [T, 3H], queries, keys and values beside each other, each by head.
// In f32, or otherwise with the products in bf16 where the machine is faster at that.
//   context: [T, H], or with Reads::first [N, H], of the first token of each sequence.
enum class Reads { all, first };
void attention(ThreadPool& pool, ConstTensor qkv, std::span<const int32_t> starts, int heads,
               Reads reads, Precision precision, Buffer& scratch, Tensor context);

}  // namespace bert::engine
