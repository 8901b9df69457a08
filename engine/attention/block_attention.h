// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "engine/attention/attention.h"

namespace bert::engine {

// Sequences with more tokens than this attend to a block of keys at a time: with terms for each
// pair of tokens, where these leave the caches (2,048 tokens: -15 %, a quarter of the memory);
// otherwise later, as scores of a few queries are read in order, and blocks cost 4 %.
inline int64_t whole_tokens(const AttentionOptions& options) {
  return options.keys || options.disentangled ? 1024 : 8192;
}

inline int64_t key_heads_of(const AttentionOptions& options) {
  return options.key_heads > 0 ? options.key_heads : options.heads;
}
float scale_of(const AttentionOptions& options, int64_t width);  // of heads of that width
int64_t longest_sequence(std::span<const int32_t> starts);
// Floats to compute the bias of so many queries and keys in, if it is one for each pair.
int64_t bias_scratch(const AttentionOptions& options, int64_t queries, int64_t keys);

// attention() over one block of keys at a time, with the softmax's running maximum and sum (Milakov
// and Gimelshein 2018), so that memory does not grow with the square of the length. Where a token
// attends only to options.window tokens on each side (Beltagy et al. 2020), it costs only these.
// With a window, without a bias by distance. Sequences of up to whole_tokens() get the bits that
// they get without blocks; how a longer one is divided depends on its length and the options alone.
void block_attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
                     const AttentionOptions& options, Buffer& scratch, Tensor context);

}  // namespace bert::engine
