// SPDX-License-Identifier: Apache-2.0
//
// What attention adds to the scores depending on how far apart two tokens are.
#pragma once

#include <cstdint>

#include "engine/attention/positions/distance_panels.h"
#include "engine/kernels/kernel_table.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Numbers that are added to the scores of each head, by the key's position relative to the query's
// (Raffel et al. 2020, section 2.1). They are added to q k^T, before scaling.
struct RelativeBias {
  Buffer values;  // [A, 2 max_tokens - 1]; distance 0 is in the middle
  int64_t max_tokens = 0;

  const float* of_head(int64_t head) const {
    return values.data() + head * (2 * max_tokens - 1) + max_tokens - 1;
  }
};

// Embeddings r_ij of the query's position relative to the key's, which are multiplied with the
// query (Shaw et al. 2018), or with the query and the key (Huang et al. 2020): q_i r_ij (+ k_j
// r_ij) is added to q_i k_j.
class RelativeKeys {
 public:
  // table: [2 max_tokens - 1, D], distance 0 in the middle. with_key: add k_j r_ij too.
  RelativeKeys(Team& team, ConstTensor table, bool with_key);

  // Computes and sets the bias of a task with this many queries and keys, in scratch
  // [scratch_size()].
  int64_t scratch_size(int64_t queries, int64_t keys) const;
  void run(AttentionTask& task, Place place, float* scratch) const;

 private:
  DistancePanels panels_;  // the table's rows, last to first
  int64_t max_tokens_, width_;
  bool with_key_;
};

}  // namespace bert::engine
