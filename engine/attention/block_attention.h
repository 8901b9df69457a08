// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/attention.h"

namespace bert::engine {

// Sequences with more tokens than this attend to a block of keys at a time. With a term for each
// pair of tokens, that pays once the terms outgrow the caches (2,048 tokens: -15 %, a quarter of
// the memory); otherwise only later, as scores are read in order, and blocks cost 4 %.
inline int64_t whole_tokens(const AttentionOptions& options) {
  return options.keys || options.disentangled ? 1024 : 8192;
}

inline int64_t key_heads_of(const AttentionOptions& options) {
  return options.key_heads > 0 ? options.key_heads : options.heads;
}
float scale_of(const AttentionOptions& options, int64_t width);  // for heads of that width
int64_t longest_sequence(std::span<const int32_t> starts);
// Where the probabilities of each sequence begin.
std::vector<int64_t> probability_offsets(std::span<const int32_t> starts,
                                         const AttentionOptions& options);
// Floats needed to compute the bias of this many queries and keys, if each pair has its own.
int64_t bias_scratch(const AttentionOptions& options, int64_t queries, int64_t keys);

// attention() over one block of keys at a time, with the softmax's running maximum and sum (Milakov
// and Gimelshein 2018), so that memory does not grow with the square of the length. A token with a
// window (Beltagy et al. 2020) costs only the options.window tokens on each side, and one that is
// causal only those before it; a bias by distance is then not allowed. Up to whole_tokens(), the
// result is the same bits as without blocks; how a longer sequence is divided depends only on its
// length and the options.
void block_attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
                     const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
