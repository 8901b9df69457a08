// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/positions/disentangled.h"
#include "engine/attention/positions/relative_positions.h"
#include "engine/kernels/row_kernels.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Multi-head self-attention over packed sequences (Vaswani et al. 2017, section 3.2): for each
// sequence and head softmax(scale q k^T) v. Sequence i owns rows [starts[i], starts[i + 1]) and
// attends to these only, so there is nothing to mask.
//   qkv: [T, 3H], queries, keys and values side by side, each split into heads; [T, H + 2 key_heads
//   D] where heads share keys and values.
//   context: [T, H], or with Reads::first [N, H], of the first token of each sequence.
// H is here A D, which need not be the hidden size.
// If the precision is not f32, the products are in bf16 where the machine is faster at that.
enum class Reads { all, first };
struct AttentionOptions {
  int heads = 1;
  // Of keys and values, each of which as many neighbouring heads of queries share (Ainslie et al.
  // 2023); 0: as many as heads. Not with keys or disentangled.
  int key_heads = 0;
  Reads reads = Reads::all;
  Precision precision = Precision::f32;
  float scale = 0;  // of the scores; 0: 1 / sqrt D, with disentangled 1 / sqrt(terms D)
  const RelativeBias* bias = nullptr;  // at most one of the three
  const RelativeKeys* keys = nullptr;
  const Disentangled* disentangled = nullptr;
  int64_t window = 0;  // tokens attended to on each side; 0: all
  // Of each sequence, how many tokens at its beginning its tokens attend to; empty: to all. With a
  // window, at least one of these must lie in the window of each token. Without probabilities.
  std::span<const int32_t> attended = {};
  // The softmax, [A, queries, S] for one sequence after the other; or null.
  float* probabilities = nullptr;
};
void attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
               const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
