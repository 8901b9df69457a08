// SPDX-License-Identifier: Apache-2.0
#include "engine/vectors.h"

namespace bert::engine::ROW_KERNELS {
namespace {

constexpr int64_t kQueryBlock = 8 * kRows;  // queries whose scores are kept at once, in L2

// c[R, V * W] = a[R, k] b[k, V * W], all of it in registers.
template <int R, int V>
inline void tile(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t k,
                 float* c, int64_t c_stride) {
  Vec sum[R][V] = {};
  for (int64_t i = 0; i < k; ++i) {
    Vec row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load(b + i * b_stride + v * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec x = broadcast(a[r * a_stride + i]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] += x * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(c + r * c_stride + v * W, sum[r][v]);
  }
}

// The same for `rows` rows: as many at a time as there are registers for.
template <int V>
void tile_rows(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
               int64_t k, float* c, int64_t c_stride) {
  constexpr int kMost = kRows * kVectors / V < 12 ? kRows * kVectors / V : 12;
  const auto tiles = [&]<int R>() {
    for (; rows >= R; rows -= R, a += R * a_stride, c += R * c_stride) {
      tile<R, V>(a, a_stride, b, b_stride, k, c, c_stride);
    }
  };
  tiles.template operator()<kMost>();
  tiles.template operator()<4>();
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

// c[rows, columns] = a[rows, k] b[k, columns], columns a multiple of W.
void multiply(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t a_stride,
              const float* b, int64_t b_stride, float* c, int64_t c_stride) {
  for (; columns >= kPanel; columns -= kPanel, b += kPanel, c += kPanel) {
    tile_rows<kVectors>(rows, a, a_stride, b, b_stride, k, c, c_stride);
  }
  const auto rest = columns / W;
  if (rest == 1) return tile_rows<1>(rows, a, a_stride, b, b_stride, k, c, c_stride);
  if constexpr (kVectors == 4) {
    if (rest == 2) return tile_rows<2>(rows, a, a_stride, b, b_stride, k, c, c_stride);
    if (rest == 3) return tile_rows<3>(rows, a, a_stride, b, b_stride, k, c, c_stride);
  }
}

// Rows lie too far apart for the processor to see what comes next.
constexpr int64_t kRowsAhead = 8;
inline void fetch(const float* row, int64_t width) {
  for (int64_t d = 0; d < width; d += 16) __builtin_prefetch(row + d);
}

// k [S, D] into panels of kPanel keys (the last may be narrower, a multiple of W), each [D, keys]
// with the keys beside each other. Keys past the end are zero.
void pack_keys(const AttentionTask& task, float* packed) {
  const int64_t padded = round_up(task.length, W);
  for (int64_t j = 0; j < padded; j += W) {
    const int64_t panel = j / kPanel * kPanel;
    const int64_t keys = padded - panel < kPanel ? padded - panel : kPanel;
    float* to = packed + panel * task.width + (j - panel);
    for (int64_t d = 0; d < task.width; d += W) {
      const int64_t dims = task.width - d < W ? task.width - d : W;
      Vec block[W];
      for (int i = 0; i < W; ++i) {
        const float* row = task.k + (j + i) * task.stride + d;
        __builtin_prefetch(row + W * task.stride);
        block[i] = j + i >= task.length ? Vec{} : dims == W ? load(row) : load_part(row, dims, 0);
      }
      transpose(block);
      for (int64_t i = 0; i < dims; ++i) store(to + (d + i) * keys, block[i]);
    }
  }
}

void pack_values(const AttentionTask& task, float* packed) {
  const int64_t padded = round_up(task.width, W);
  for (int64_t i = 0; i < task.length; ++i) {
    const float* row = task.v + i * task.stride;
    fetch(row + kRowsAhead * task.stride, task.width);
    if (i < task.queries) fetch(task.q + i * task.stride, task.width);
    for (int64_t d = 0; d < padded; d += W) {
      const int64_t dims = task.width - d < W ? task.width - d : W;
      store(packed + i * padded + d, dims == W ? load(row + d) : load_part(row + d, dims, 0));
    }
  }
}

// scores[S] becomes e^(scale (scores - max)), and the sum of that is returned. The memory is a
// multiple of W floats.
float exp_row(float* scores, int64_t length, float scale) {
  const int64_t padded = round_up(length, W);
  for (int64_t i = length; i < padded; ++i) scores[i] = -__builtin_inff();
  Vec greatest = load(scores);
  for (int64_t i = W; i < padded; i += W) greatest = max(greatest, load(scores + i));
  float top = greatest[0];
  for (int i = 1; i < W; ++i) top = greatest[i] > top ? greatest[i] : top;
  Vec sum{};
  for (int64_t i = 0; i < padded; i += W) {
    const Vec e = exp_negative((load(scores + i) - top) * scale);
    store(scores + i, e);
    sum += e;
  }
  return sum_lanes(sum);
}

}  // namespace

int64_t attention_scratch(int64_t length, int64_t width) {
  const int64_t keys = round_up(length, W), dims = round_up(width, W);
  const int64_t queries = length < kQueryBlock ? length : kQueryBlock;
  return keys * width + length * dims + queries * (keys + dims);
}

void attention(const AttentionTask& task, float* scratch) {
  const int64_t keys = round_up(task.length, W), dims = round_up(task.width, W);
  float* packed_keys = scratch;
  float* packed_values = packed_keys + keys * task.width;
  float* scores = packed_values + task.length * dims;
  const int64_t most = task.queries < kQueryBlock ? task.queries : kQueryBlock;
  float* context = scores + most * keys;
  pack_keys(task, packed_keys);
  pack_values(task, packed_values);

  for (int64_t first = 0; first < task.queries; first += kQueryBlock) {
    const int64_t left = task.queries - first;
    const int64_t queries = left < kQueryBlock ? left : kQueryBlock;
    for (int64_t j = 0; j < keys; j += kPanel) {
      const int64_t panel = keys - j < kPanel ? keys - j : kPanel;
      multiply(queries, panel, task.width, task.q + first * task.stride, task.stride,
               packed_keys + j * task.width, panel, scores + j, keys);
    }
    float sums[kQueryBlock];
    for (int64_t i = 0; i < queries; ++i) {
      sums[i] = exp_row(scores + i * keys, task.length, task.scale);
    }
    multiply(queries, dims, task.length, scores, keys, packed_values, dims, context, dims);
    for (int64_t i = 0; i < queries; ++i) {
      float* to = task.context + (first + i) * task.context_stride;
      const float inverse = 1.0f / sums[i];
      for (int64_t d = 0; d < task.width; ++d) to[d] = context[i * dims + d] * inverse;
    }
  }
}

}  // namespace bert::engine::ROW_KERNELS
