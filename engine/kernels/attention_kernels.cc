// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

constexpr int64_t kQueryBlock = 8 * kRows;  // queries whose scores are kept at once, in L2

// Where products go: c[rows, columns], or what they are added to. greatest: if there, [rows, W]:
// each row's greatest so far, lane by lane of its vectors.
struct Products {
  float* c;
  int64_t stride;
  bool add = false;
  float* greatest = nullptr;
};

// to = a[R, k] b[k, V * W], k in units, all of it in registers.
template <typename Kind, int R, int V>
inline void tile(const Unit* a, int64_t a_stride, const Unit* b, int64_t k, const Products& to) {
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
    Vec most = load(to.greatest + r * W);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) most = max(most, sum[r][v]);
    store(to.greatest + r * W, most);
  }
}

// The same for `rows` rows: as many at a time as there are registers for.
template <typename Kind, int V>
void tile_rows(int64_t rows, const Unit* a, int64_t a_stride, const Unit* b, int64_t k,
               Products to) {
  constexpr int kMost = kRows * kVectors / V < 12 ? kRows * kVectors / V : 12;
  const auto tiles = [&]<int R>() {
    for (; rows >= R; rows -= R, a += R * a_stride, to.c += R * to.stride) {
      tile<Kind, R, V>(a, a_stride, b, k, to);
      if (to.greatest) to.greatest += R * W;
    }
  };
  tiles.template operator()<kMost>();
  tiles.template operator()<4>();
  tiles.template operator()<2>();
  tiles.template operator()<1>();
}

// to = a[rows, k] b[k, columns], columns a multiple of W. b is k rows from `from` on of `all`, in
// panels of kPanel columns (the last may be narrower).
template <typename Kind>
void multiply(int64_t rows, int64_t columns, int64_t k, const Unit* a, int64_t a_stride,
              const Unit* b, int64_t from, int64_t all, Products to) {
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

template <typename Kind>
constexpr int64_t units_of(int64_t floats) {
  return (floats + Kind::kPer - 1) / Kind::kPer;
}

// Rows lie too far apart for the processor to see what comes next.
constexpr int64_t kRowsAhead = 8;
inline void fetch(const float* row, int64_t width) {
  for (int64_t d = 0; d < width; d += 16) __builtin_prefetch(row + d);
}

// W units of a row from element d on, with zeros past the last one.
template <typename Kind>
inline typename Kind::In units_at(const float* row, int64_t d, int64_t width) {
  constexpr int64_t kMost = W * Kind::kPer;
  if (width - d >= kMost) return Kind::from(row + d);
  float part[kMost] = {};
  for (int64_t i = 0; d + i < width; ++i) part[i] = row[d + i];
  return Kind::from(part);
}

// k [S, D] into panels of kPanel keys (the last may be narrower, a multiple of W), each
// [D in units, keys] with the keys beside each other. Keys past the end are zero.
template <typename Kind>
void pack_keys(const AttentionTask& task, Unit* packed) {
  const int64_t padded = round_up(task.length, W), units = units_of<Kind>(task.width);
  for (int64_t j = 0; j < padded; j += W) {
    const int64_t panel = j / kPanel * kPanel;
    const int64_t keys = padded - panel < kPanel ? padded - panel : kPanel;
    Unit* to = packed + panel * units + (j - panel);
    for (int64_t d = 0; d < units; d += W) {
      Vec block[W];
      for (int i = 0; i < W; ++i) {
        const float* row = task.k + (j + i) * task.stride;
        fetch(row + W * task.stride + d * Kind::kPer, W * Kind::kPer);
        block[i] =
            j + i >= task.length ? Vec{} : (Vec)units_at<Kind>(row, d * Kind::kPer, task.width);
      }
      transpose(block);
      const int64_t rows = units - d < W ? units - d : W;
      for (int64_t i = 0; i < rows; ++i) store(to + (d + i) * keys, block[i]);
    }
  }
}

// `count` rows of q [S, D] from `first` on as [count, D padded to whole vectors], D in units.
template <typename Kind>
void pack_queries(const AttentionTask& task, int64_t first, int64_t count, Unit* packed) {
  const int64_t stride = round_up(task.width, W), width = units_of<Kind>(task.width);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = task.q + (first + i) * task.stride;
    for (int64_t d = 0; d < width; d += W) {
      store(packed + i * stride + d, (Vec)units_at<Kind>(row, d * Kind::kPer, task.width));
    }
  }
}

// v [S, D padded to whole vectors] into panels of kPanel dimensions, each [S in units, dimensions].
template <typename Kind>
void pack_values(const AttentionTask& task, Unit* packed) {
  const int64_t padded = round_up(task.width, W), all = units_of<Kind>(task.length);
  for (int64_t i = 0; i < task.length; i += Kind::kPer) {
    const float* row = task.v + i * task.stride;
    const float* next = row + task.stride;
    for (int r = 0; r < Kind::kPer; ++r) {
      fetch(row + (kRowsAhead + r) * task.stride, task.width);
      if (i + r < task.queries) fetch(task.q + (i + r) * task.stride, task.width);
    }
    for (int64_t panel = 0; panel < padded; panel += kPanel) {
      const int64_t end = padded - panel < kPanel ? padded : panel + kPanel;
      Unit* to = packed + panel * all + i / Kind::kPer * (end - panel);
      for (int64_t d = panel; d < end; d += W, to += W) {
        const int64_t dims = task.width - d < W ? task.width - d : W;
        float low[W] = {}, high[W] = {};
        const bool both = Kind::kPer == 2 && i + 1 < task.length, whole = dims == W;
        if (!whole) store(low, load_part(row + d, dims, 0));
        if (both && !whole) store(high, load_part(next + d, dims, 0));
        const auto made = Kind::pair(whole ? row + d : low, both && whole ? next + d : high);
        store(to, (Vec)made);
      }
    }
  }
}

// The greatest of scores[S], of which those before `from` are in `greatest`. The memory is a
// multiple of W floats; what is past the end becomes -infinity.
float greatest_score(float* scores, int64_t from, int64_t length, Vec greatest) {
  const int64_t last = round_up(length, W) - W;
  if (from > last) return greatest_lane(greatest);
  const Vec none = broadcast(-__builtin_inff());
  // Not float by float: reading these together right afterwards would wait for each.
  const Vec end = first_lanes(length - last, load(scores + last), none, CountLanes<W>::Type());
  store(scores + last, end);
  for (int64_t i = from; i < last; i += W) greatest = max(greatest, load(scores + i));
  return greatest_lane(max(greatest, end));
}

// scores[S] becomes e^(scale (scores - greatest)), and the sum of that is returned.
float exp_row(float* scores, int64_t length, float scale, float greatest) {
  const int64_t padded = round_up(length, W);
  scale *= kLog2E;
  const float shift = greatest * scale;
  Vec sum{};
  for (int64_t i = 0; i < padded; i += W) {
    const Vec e = exp2_negative(max(broadcast(-126.0f), load(scores + i) * scale - shift));
    store(scores + i, e);
    sum += e;
  }
  return sum_lanes(sum);
}

// What is there becomes units, in place: each comes to lie where it was read or before.
template <typename Kind>
void to_units(float* row, int64_t padded) {
  for (int64_t i = 0; Kind::kPer > 1 && i < padded / Kind::kPer; i += W) {
    store(row + i, (Vec)units_at<Kind>(row, i * Kind::kPer, padded));
  }
}

template <typename Kind>
void attend(const AttentionTask& task, float* scratch) {
  const int64_t keys = round_up(task.length, W), dims = round_up(task.width, W);
  const int64_t width = units_of<Kind>(task.width);
  Unit* packed_keys = scratch;
  Unit* packed_values = packed_keys + keys * width;
  const int64_t all = units_of<Kind>(task.length);
  float* scores = packed_values + all * dims;
  const int64_t most = task.queries < kQueryBlock ? task.queries : kQueryBlock;
  float* context = scores + most * keys;
  pack_keys<Kind>(task, packed_keys);
  pack_values<Kind>(task, packed_values);

  for (int64_t first = 0; first < task.queries; first += kQueryBlock) {
    const int64_t left = task.queries - first;
    const int64_t queries = left < kQueryBlock ? left : kQueryBlock;
    Unit* q = context;  // until the context is there
    pack_queries<Kind>(task, first, queries, q);
    alignas(64) float most_of[kQueryBlock * W];  // the greatest of the first `compared` scores
    const int64_t compared = task.bias ? 0 : task.length / kPanel * kPanel;
    const Vec none = broadcast(-__builtin_inff());
    for (int64_t i = 0; i < queries && compared > 0; ++i) store(most_of + i * W, none);
    for (int64_t j = 0; j < keys; j += kPanel) {
      const int64_t panel = keys - j < kPanel ? keys - j : kPanel;
      multiply<Kind>(queries, panel, width, q, dims, packed_keys + j * width, 0, width,
                     {scores + j, keys, false, j < compared ? most_of : nullptr});
    }
    // All rows' greatest first: they are short, and their ends would wait for each other.
    float greatest[kQueryBlock], sums[kQueryBlock];
    for (int64_t i = 0; i < queries; ++i) {
      if (task.bias) {
        const float* bias = task.bias + (first + i) * task.bias_stride;
        for (int64_t j = 0; j < task.length; ++j) scores[i * keys + j] += bias[j];
      }
      greatest[i] = greatest_score(scores + i * keys, compared, task.length,
                                   compared > 0 ? load(most_of + i * W) : none);
    }
    for (int64_t i = 0; i < queries; ++i) {
      sums[i] = exp_row(scores + i * keys, task.length, task.scale, greatest[i]);
      if (task.probabilities) {
        float* to = task.probabilities + (first + i) * task.length;
        for (int64_t j = 0; j < task.length; ++j) to[j] = scores[i * keys + j] / sums[i];
      }
      to_units<Kind>(scores + i * keys, keys);
    }
    for (int64_t j = 0; j < all; j += Kind::kBlock) {
      const int64_t some = all - j < Kind::kBlock ? all - j : Kind::kBlock;
      multiply<Kind>(queries, dims, some, scores + j, keys, packed_values, j, all,
                     {context, dims, j > 0});
    }
    for (int64_t i = 0; i < queries; ++i) {
      float* to = task.context + (first + i) * task.context_stride;
      const float inverse = 1.0f / sums[i];
      for (int64_t d = 0; d < task.width; ++d) to[d] = context[i * dims + d] * inverse;
    }
  }
}

}  // namespace

int64_t attention_scratch(int64_t length, int64_t width) {
  const int64_t keys = round_up(length, W), dims = round_up(width, W);
  const int64_t queries = length < kQueryBlock ? length : kQueryBlock;
  return keys * width + length * dims + queries * (keys + dims);
}

void attention_f32(const AttentionTask& task, float* scratch) { attend<F32>(task, scratch); }

// Only where the machine multiplies bf16 is it faster than f32.
void attention_bf16(const AttentionTask& task, float* scratch) {
#if defined(__AVX512BF16__)
  attend<Bf16>(task, scratch);
#else
  attend<F32>(task, scratch);
#endif
}

}  // namespace bert::engine::INSTRUCTION_SET
