// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels/row_kernels.h"
#include "engine/tensor.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// For each head a number that is added to the scores, by how far behind the query's token the key's
// is (Raffel et al. 2020, section 2.1). In units of the scores q k^T before they are scaled.
struct RelativeBias {
  Buffer values;     // [A, 2 most - 1]; no distance stands in the middle
  int64_t most = 0;  // tokens of a sequence

  const float* of_head(int64_t head) const {
    return values.data() + head * (2 * most - 1) + most - 1;
  }
};

// Rows by how far before the query's token the key's is, that meet the query (Shaw et al. 2018), or
// the query and the key (Huang et al. 2020): q_i r_ij (+ k_j r_ij) is added to q_i k_j.
class RelativeKeys {
 public:
  // table: [2 most - 1, D], no distance in the middle.
  RelativeKeys(ThreadPool& pool, ConstTensor table, bool meets_key);

  // Fills the task's bias, in scratch [scratch_size(S)].
  int64_t scratch_size(int64_t length) const;
  void run(AttentionTask& task, float* scratch) const;

 private:
  struct Columns {
    int64_t first, count;
  };
  Columns columns(int64_t length) const;
  void multiply(const float* rows, const AttentionTask& task, int64_t count, float* copy,
                float* y) const;

  Buffer panels_;  // of the table, the greatest distance before first
  Buffer zeros_;   // [panel_columns]
  int64_t most_, width_;
  bool meets_key_;
};

// Multi-head self-attention over packed sequences (Vaswani et al. 2017, section 3.2): for each
// sequence and head softmax(q k^T / sqrt D) v. Sequence i owns rows [starts[i], starts[i + 1]), and
// no token sees another sequence's: there is nothing to mask.
//   qkv: [T, 3H], queries, keys and values beside each other, each by head.
// In f32, or otherwise with the products in bf16 where the machine is faster at that.
//   context: [T, H], or with Reads::first [N, H], of the first token of each sequence.
enum class Reads { all, first };
struct AttentionOptions {
  int heads = 1;
  Reads reads = Reads::all;
  Precision precision = Precision::f32;
  const RelativeBias* bias = nullptr;  // one of them at most
  const RelativeKeys* keys = nullptr;
  // What is multiplied with v, [A, queries, S] for one sequence after the other; or null.
  float* probabilities = nullptr;
};
void attention(ThreadPool& pool, ConstTensor qkv, std::span<const int32_t> starts,
               const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
