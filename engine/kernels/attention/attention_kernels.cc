// SPDX-License-Identifier: Apache-2.0
//
// One head of one sequence: context = softmax(scale (q k^T + bias)) v, for a block of queries at a
// time, with keys and values packed into panels as the products need them.
#include "engine/kernels/activations.h"
#include "engine/kernels/attention/packing.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/tiles/tiles.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Few enough for their scores to stay in L2.
template <typename Kind>
constexpr int64_t kQueryBlock = kInTiles<Kind> ? 64 : 8 * kRows;

// Where products go: c [rows, columns], which they overwrite or are added to. greatest: [rows, W],
// the running maximum of each row, lane by lane; or null.
struct Destination {
  float* c;
  int64_t stride;
  bool add = false;
  float* greatest = nullptr;
};

// to = a [R, k] b [k, V * W], with k in words and the sums in registers.
template <typename Kind, int R, int V>
inline void tile(const Word32* a, int64_t a_stride, const Word32* b, int64_t k,
                 const Destination& to) {
  Vec sum[R][V] = {};
  if (to.add) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = load(to.c + r * to.stride + v * W);
    }
  }
  add_products<Kind>(a, a_stride, b, k, sum);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(to.c + r * to.stride + v * W, sum[r][v]);
  }
  if (!to.greatest) return;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    Vec greatest = load(to.greatest + r * W);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) greatest = max(greatest, sum[r][v]);
    store(to.greatest + r * W, greatest);
  }
}

// The same for `rows` rows, in tiles of as many as the registers hold.
template <typename Kind, int V>
void tile_rows(int64_t rows, const Word32* a, int64_t a_stride, const Word32* b, int64_t k,
               Destination to) {
  constexpr int kMaxRows = kRows * kVectors / V < 12 ? kRows * kVectors / V : 12;
  const auto tiles = [&]<int R>() {
    for (; rows >= R; rows -= R, a += R * a_stride, to.c += R * to.stride) {
      tile<Kind, R, V>(a, a_stride, b, k, to);
      if (to.greatest) to.greatest += R * W;
    }
  };
  tiles.template operator()<kMaxRows>();
  tiles.template operator()<4>();
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

// to = a [rows, k] b [k, columns], with columns a multiple of W. b: rows `from` to `from` + k of a
// matrix of `all` rows, in panels of kPanel columns (the last may be narrower).
template <typename Kind>
void multiply(int64_t rows, int64_t columns, int64_t k, const Word32* a, int64_t a_stride,
              const Word32* b, int64_t from, int64_t all, Destination to) {
  for (; columns >= kPanel; columns -= kPanel, b += all * kPanel, to.c += kPanel) {
    tile_rows<Kind, kVectors>(rows, a, a_stride, b + from * kPanel, k, to);
  }
  b += from * columns;
  const auto rest = columns / W;
  if (rest == 1) return tile_rows<Kind, 1>(rows, a, a_stride, b, k, to);
  if constexpr (kVectors == 4) {
    if (rest == 2) return tile_rows<Kind, 2>(rows, a, a_stride, b, k, to);
    if (rest == 3) return tile_rows<Kind, 3>(rows, a, a_stride, b, k, to);
  }
}

// The maximum of scores [S]; `greatest` is the maximum of those before `from`, by lane. The memory
// is a multiple of W floats; those past the end become -infinity.
float greatest_score(float* scores, int64_t from, int64_t length, Vec greatest) {
  const int64_t last = round_up(length, W) - W;
  if (from > last) return greatest_lane(greatest);
  const Vec none = broadcast(-__builtin_inff());
  // Not float by float: loading them as a vector right afterwards would stall.
  const Vec end = first_lanes(length - last, load(scores + last), none, AllLanes());
  store(scores + last, end);
  for (int64_t i = from; i < last; i += W) greatest = max(greatest, load(scores + i));
  return greatest_lane(max(greatest, end));
}

// scores [S] becomes e^(scale (scores - greatest)), 0 below 2^-127: numbers as small as that make
// denormal products, for which Intel's processors take a hundred times as long. Returns the sum. If
// in_words, they are stored as the words that values are multiplied with: no word beyond the floats
// that it comes from.
template <typename Kind>
float exp_row(float* scores, int64_t length, float scale, float greatest, bool in_words) {
  const int64_t padded = round_up(length, W);
  scale *= kLog2E;
  const float shift = greatest * scale;
  const auto exp_at = [=](int64_t i) {
    return exp2_negative(max(broadcast(-127.0f), load(scores + i) * scale - shift));
  };
  Vec sum{};
  if constexpr (Kind::kFloatsPerWord == 2) {
    for (int64_t i = 0; in_words && i < padded; i += 2 * W) {
      const Vec low = exp_at(i), high = i + W < padded ? exp_at(i + W) : Vec{};
      sum += low;
      sum += high;
      store(scores + i / 2, (Vec)Kind::from(low, high));
    }
    if (in_words) return sum_lanes(sum);
  }
  for (int64_t i = 0; i < padded; i += W) {
    const Vec e = exp_at(i);
    store(scores + i, e);
    sum += e;
  }
  return sum_lanes(sum);
}

// scores [queries, keys] = q k^T
template <typename Kind>
void multiply_keys(int64_t queries, int64_t keys, int64_t width, const Word32* q, int64_t q_stride,
                   const Word32* packed_keys, float* scores, int64_t compared, float* by_lane) {
  if constexpr (kInTiles<Kind>) {
    return multiply_in_tiles<Kind>(queries, keys, width, q, q_stride, packed_keys, scores, keys);
  }
  for (int64_t j = 0; j < keys; j += kPanel) {
    const int64_t panel = keys - j < kPanel ? keys - j : kPanel;
    multiply<Kind>(queries, panel, width, q, q_stride, packed_keys + j * width, 0, width,
                   {.c = scores + j, .stride = keys, .greatest = j < compared ? by_lane : nullptr});
  }
}

// context [queries, dims] = p v
template <typename Kind>
void multiply_values(int64_t queries, int64_t dims, int64_t all, const Word32* p, int64_t p_stride,
                     const Word32* packed_values, float* context) {
  if constexpr (kInTiles<Kind>) {
    return multiply_in_tiles<Kind>(queries, dims, all, p, p_stride, packed_values, context, dims);
  }
  for (int64_t j = 0; j < all; j += Kind::kBlock) {
    const int64_t some = all - j < Kind::kBlock ? all - j : Kind::kBlock;
    multiply<Kind>(queries, dims, some, p + j, p_stride, packed_values, j, all,
                   {.c = context, .stride = dims, .add = j > 0});
  }
}

template <typename Kind>
void attend(const AttentionTask& task, float* scratch) {
  constexpr int64_t kColumns = kColumnStep<Kind>, kBlock = kQueryBlock<Kind>;
  const int64_t keys = round_up(task.length, kColumns), dims = round_up(task.width, kColumns);
  const int64_t width = words_of<Kind>(task.width);
  const int64_t all = words_of<Kind>(task.length);
  Word32* packed_keys = as_words(scratch);
  Word32* packed_values = packed_keys + keys * width;
  float* scores = scratch + keys * width + all * dims;
  const int64_t block = task.queries < kBlock ? task.queries : kBlock;
  float* context = scores + block * keys;
  pack_keys<Kind>(task, packed_keys);
  pack_values<Kind>(task, packed_values);

  for (int64_t first = 0; first < task.queries; first += kBlock) {
    const int64_t left = task.queries - first;
    const int64_t queries = left < kBlock ? left : kBlock;
    Word32* q = as_words(context);  // shares the memory until the context is computed
    pack_queries<Kind>(task, first, queries, q);
    alignas(64) float by_lane[kBlock * W];  // maxima of the first `compared` scores
    const int64_t compared = task.bias || kInTiles<Kind> ? 0 : task.length / kPanel * kPanel;
    const Vec none = broadcast(-__builtin_inff());
    for (int64_t i = 0; i < queries && compared > 0; ++i) store(by_lane + i * W, none);
    multiply_keys<Kind>(queries, keys, width, q, dims, packed_keys, scores, compared, by_lane);
    // All rows' maxima first: they are short loops, whose ends would wait for each other.
    float greatest[kBlock], sums[kBlock];
    for (int64_t i = 0; i < queries; ++i) {
      if (task.bias) {
        const float* bias = task.bias + (first + i) * task.bias_stride;
        for (int64_t j = 0; j < task.length; ++j) scores[i * keys + j] += bias[j];
      }
      greatest[i] = greatest_score(scores + i * keys, compared, task.length,
                                   compared > 0 ? load(by_lane + i * W) : none);
    }
    for (int64_t i = 0; i < queries; ++i) {
      const bool in_words = kInTiles<Kind> && !task.probabilities;
      sums[i] = exp_row<Kind>(scores + i * keys, task.length, task.scale, greatest[i], in_words);
      if (task.probabilities) {
        float* to = task.probabilities + (first + i) * task.length;
        for (int64_t j = 0; j < task.length; ++j) to[j] = scores[i * keys + j] / sums[i];
      }
      if (!in_words) to_words<Kind>(scores + i * keys, keys);
      if (!task.sums) continue;
      task.greatest[first + i] = task.scale * greatest[i];
      task.sums[first + i] = sums[i];
    }
    multiply_values<Kind>(queries, dims, all, as_words(scores), keys, packed_values, context);
    for (int64_t i = 0; i < queries; ++i) {
      float* to = task.context + (first + i) * task.context_stride;
      const float inverse = 1.0f / sums[i];
      for (int64_t d = 0; d < task.width; ++d) to[d] = context[i * dims + d] * inverse;
    }
  }
}

}  // namespace

int64_t attention_scratch(int64_t length, int64_t width) {
  // Of either kind: what tiles pad, and what they do without.
  constexpr int64_t kColumns = kColumnStep<Bf16>, kBlock = kQueryBlock<Bf16>;
  const int64_t keys = round_up(length, kColumns), dims = round_up(width, kColumns);
  const int64_t queries = length < kBlock ? length : kBlock;
  return keys * dims + keys * dims + queries * (keys + dims);
}

void attention_f32(const AttentionTask& task, float* scratch) { attend<F32>(task, scratch); }

// bf16 is faster than f32 only where the machine has instructions for it.
void attention_bf16(const AttentionTask& task, float* scratch) {
#if defined(__AVX512BF16__)
  attend<Bf16>(task, scratch);
#else
  attend<F32>(task, scratch);
#endif
}

}  // namespace bert::engine::INSTRUCTION_SET
