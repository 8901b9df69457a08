// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/windowed_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {
namespace {

// Queries that share their keys: more would be multiplied with more keys outside of their windows,
// fewer would pack the same keys more often. A sequence is always divided from its beginning.
constexpr int64_t kQueries = 96;

// Some queries of a sequence, and the keys that any of them attends to; counted within it.
struct Block {
  int64_t sequence, first, last, first_key, last_key;
  int64_t queries() const { return last - first; }
  int64_t keys() const { return last_key - first_key; }
};

std::vector<Block> blocks_of(std::span<const int32_t> starts, std::span<const int32_t> attended,
                             int64_t window) {
  std::vector<Block> blocks;
  for (int64_t i = 0; i + 1 < std::ssize(starts); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    const int64_t keys = attended.empty() ? length : attended[i];
    for (int64_t first = 0; first < length; first += kQueries) {
      const int64_t last = std::min(length, first + kQueries);
      blocks.push_back(
          {i, first, last, std::max<int64_t>(0, first - window), std::min(keys, last + window)});
      assert(blocks.back().keys() > 0);
    }
  }
  return blocks;
}

// What hides the keys outside of each query's window, [queries, keys].
void fill_mask(const Block& block, int64_t queries, int64_t window, float* mask) {
  for (int64_t i = block.first; i < block.first + queries; ++i) {
    for (int64_t j = block.first_key; j < block.last_key; ++j) {
      *mask++ = std::abs(i - j) <= window ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace

void windowed_attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
                        const AttentionOptions& options, Buffer& scratch, Tensor context) {
  assert(!options.bias && !options.keys && !options.disentangled);
  const Timed timed(Step::attention);
  const RowKernels& kernels = row_kernels();
  const auto attend =
      options.precision == Precision::f32 ? kernels.attention_f32 : kernels.attention_bf16;
  const int64_t heads = options.heads, hidden = context.columns, width = hidden / heads;
  const bool all = options.reads == Reads::all;
  std::vector<Block> blocks = blocks_of(starts, options.attended, options.window);
  if (!all) std::erase_if(blocks, [](const Block& block) { return block.first > 0; });
  std::vector<int64_t> offsets = {0};  // of each sequence's probabilities
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    offsets.push_back(offsets.back() + heads * (all ? length : 1) * length);
  }
  int64_t most = 0;
  // The scratch is for as many queries too, of which unattended tokens make more.
  for (const Block& block : blocks) most = std::max({most, block.keys(), block.queries()});
  const int64_t of_block = kQueries * most;
  const int64_t worker_floats =
      divide_up(kernels.attention_scratch(most, width) + 2 * of_block, 16) * 16;
  scratch.resize_discarding(worker_floats * team.threads());

  team.run(std::ssize(blocks) * heads, [&](int64_t i, int worker) {
    const Block& block = blocks[i / heads];
    const int64_t head = i % heads, start = starts[block.sequence],
                  queries = all ? block.queries() : 1;
    const float* keys = qkv.row(start + block.first_key) + hidden + head * width;
    float* mask = scratch.data() + worker * worker_floats;
    float* probabilities = mask + of_block;
    fill_mask(block, queries, options.window, mask);
    attend({.q = qkv.row(start + block.first) + head * width,
            .k = keys,
            .v = keys + hidden,
            .context = context.row(all ? start + block.first : block.sequence) + head * width,
            .stride = qkv.columns,
            .context_stride = hidden,
            .length = block.keys(),
            .width = width,
            .queries = queries,
            .scale = 1.0f / std::sqrt(static_cast<float>(width)),
            .bias = mask,
            .bias_stride = block.keys(),
            .probabilities = options.probabilities ? probabilities : nullptr},
           probabilities + of_block);
    if (!options.probabilities) return;
    const int64_t length = starts[block.sequence + 1] - start;
    float* to = options.probabilities + offsets[block.sequence] +
                (head * (all ? length : 1) + block.first) * length;
    for (int64_t row = 0; row < queries; ++row, to += length) {
      std::fill_n(to, length, 0.0f);
      for (int64_t j = 0; j < block.keys(); ++j) {
        const bool hidden_key = mask[row * block.keys() + j] != 0;
        to[block.first_key + j] = hidden_key ? 0 : probabilities[row * block.keys() + j];
      }
    }
  });
}

}  // namespace bert::engine
