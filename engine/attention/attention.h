// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/positions/disentangled.h"
#include "engine/attention/positions/relative_positions.h"
#include "engine/kernels/kernel_table.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// Multi-head self-attention over packed sequences (Vaswani et al. 2017, section 3.2): softmax(scale
// q k^T) v for each sequence and head. Sequence i owns rows [starts[i], starts[i + 1]) and attends
// only to them, so there is no padding to mask.
//   qkv: [T, 3H], queries, keys and values side by side, each split into heads; [T, H + 2 key_heads
//   D] where heads share keys and values.
//   context: [T, H], or with Reads::first [N, H], for the first token of each sequence only.
// H here means A D, which need not be the hidden size.
// If the precision is not f32, the products are in bf16 on machines where that is faster.
enum class Reads { all, first };
struct AttentionOptions {
  int heads = 1;
  // Heads of keys and values; heads / key_heads neighbouring query heads share each (Ainslie et al.
  // 2023). 0: as many as heads. Not with keys or disentangled.
  int key_heads = 0;
  Reads reads = Reads::all;
  Precision precision = Precision::f32;
  float scale = 0;                     // 0: 1 / sqrt D, with disentangled 1 / sqrt(terms D)
  const RelativeBias* bias = nullptr;  // at most one of these three
  const RelativeKeys* keys = nullptr;
  const Disentangled* disentangled = nullptr;
  int64_t window = 0;   // tokens attended to on each side; 0: all
  bool causal = false;  // no token attends to later ones. Not with the three above
  // [A] or null: each head's score of a key without a value, to which every query attends, so that
  // its other probabilities may sum to less than 1 (Xiao et al. 2024).
  const float* sinks = nullptr;
  // For each sequence, how many of its first tokens can be attended to; empty: all. With a window,
  // every token's window must contain at least one of them. Not with probabilities.
  std::span<const int32_t> attended = {};
  // Receives the softmax, [A, queries, S] for one sequence after the other; or null.
  float* probabilities = nullptr;
};
void attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
               const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
