// SPDX-License-Identifier: Apache-2.0
//
// Compiled several times, with ROW_KERNELS naming the instruction set, so nothing here may come
// from a template or inline function of a header: the linker could keep the copy made for another
// machine.
//
// Products and sums contract to fused multiply-adds wherever the machine has them, and always over
// the same vectors in the same order, tails included: they are padded, never done by other code.
#include "engine/row_kernels.h"

namespace bert::engine::ROW_KERNELS {
namespace {

#if defined(__AVX512F__)
constexpr int W = 16;                   // floats in a vector
constexpr int kRows = 6, kVectors = 4;  // a tile of accumulators that leaves registers for operands
#elif defined(__AVX2__)
constexpr int W = 8;
constexpr int kRows = 6, kVectors = 2;
#else
constexpr int W = 4;
constexpr int kRows = 4, kVectors = 2;
#endif
constexpr int64_t kPanel = kVectors * W;  // columns of a tile
constexpr int64_t kQueryBlock =
    8 * kRows;  // queries whose scores are kept at once: they stay in L2

typedef float Vec __attribute__((vector_size(W * sizeof(float))));
typedef int32_t IntVec __attribute__((vector_size(W * sizeof(int32_t))));

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
inline Vec broadcast(float x) { return x - Vec{}; }
// The first n floats at p, and `fill` in the other lanes.
inline Vec load_part(const float* p, int64_t n, float fill) {
  float lanes[W];
  for (int i = 0; i < W; ++i) lanes[i] = i < n ? p[i] : fill;
  return load(lanes);
}
inline void store_part(float* p, int64_t n, Vec v) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
inline float sum_lanes(Vec v) {
  float lanes[W];
  store(lanes, v);
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

void layer_norm(const float* x, const float* gamma, const float* beta, float epsilon, int64_t width,
                float* y) {
  const int64_t whole = width / W * W, rest = width - whole;
  Vec sum{};
  for (int64_t i = 0; i < whole; i += W) sum += load(x + i);
  if (rest) sum += load_part(x + whole, rest, 0.0f);
  const float mean = sum_lanes(sum) / static_cast<float>(width);

  // Squares of what is left, and not E[x²] - mean²: that cancels.
  Vec squares{};
  for (int64_t i = 0; i < whole; i += W) {
    const Vec d = load(x + i) - mean;
    squares += d * d;
  }
  if (rest) {
    const Vec d = load_part(x + whole, rest, mean) - mean;
    squares += d * d;
  }
  const float variance = sum_lanes(squares) / static_cast<float>(width);
  const float scale = 1.0f / __builtin_sqrtf(variance + epsilon);
  for (int64_t i = 0; i < whole; i += W) {
    store(y + i, (load(x + i) - mean) * scale * load(gamma + i) + load(beta + i));
  }
  if (rest) {
    const Vec normal = (load_part(x + whole, rest, mean) - mean) * scale;
    store_part(y + whole, rest,
               normal * load_part(gamma + whole, rest, 0) + load_part(beta + whole, rest, 0));
  }
}

void add3(const float* a, const float* b, const float* c, int64_t width, float* y) {
  for (int64_t i = 0; i < width; ++i) y[i] = a[i] + b[i] + c[i];
}

// e^x for x <= 0, within 2 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, a
// polynomial for e^r (Taylor to r^7, whose remainder is 6e-9) and n added to the exponent. Below
// -87 it is 0.
inline Vec exp_negative(Vec x) {
  const Vec clamped = max(x, broadcast(-87.0f));
  const Vec magic = broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec shifted = clamped * 1.44269504f + magic;
  const Vec n = shifted - magic;
  const Vec r =
      clamped - n * 0.693359375f - n * -2.12194440e-4f;  // ln 2 in two parts (Cody, Waite)
  Vec p = broadcast(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  IntVec bits, exponent;
  __builtin_memcpy(&bits, &p, sizeof bits);
  __builtin_memcpy(&exponent, &shifted, sizeof exponent);
  bits += (exponent - 0x4B400000) << 23;  // 0x4B400000 are the bits of 1.5 * 2^23
  __builtin_memcpy(&p, &bits, sizeof p);
  return x < -87.0f ? Vec{} : p;
}

inline Vec magnitude(Vec x) { return x < 0.0f ? -x : x; }

inline Vec tanh(Vec x) {
  const Vec e = exp_negative(magnitude(x) * -2.0f);
  const Vec positive = (1.0f - e) / (1.0f + e);
  return x < 0.0f ? -positive : positive;
}

// x Phi(x), with erfc by Abramowitz and Stegun 7.1.26 (within 1.5e-7).
inline Vec gelu(Vec x) {
  const Vec z = magnitude(x) * 0.707106781f;
  const Vec t = 1.0f / (z * 0.3275911f + 1.0f);
  Vec p = broadcast(1.061405429f);
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const Vec half_tail = p * t * exp_negative(-z * z) * 0.5f;  // Phi(-|x|)
  return x * (x < 0.0f ? half_tail : 1.0f - half_tail);
}

inline Vec gelu_tanh(Vec x) {
  const Vec inner = (x * x * x * 0.044715f + x) * 0.797884561f;  // sqrt(2 / pi)
  return x * 0.5f * (tanh(inner) + 1.0f);
}

template <typename Function>
inline void finish_with(Function function, const float* x, const float* bias, int64_t width,
                        float* y) {
  const int64_t whole = width / W * W, rest = width - whole;
  for (int64_t i = 0; i < whole; i += W) store(y + i, function(load(x + i) + load(bias + i)));
  if (rest) {
    store_part(y + whole, rest,
               function(load_part(x + whole, rest, 0) + load_part(bias + whole, rest, 0)));
  }
}

void finish(const float* x, const float* bias, Activation activation, bool add, int64_t width,
            float* y) {
  if (add) {
    for (int64_t i = 0; i < width; ++i) y[i] += x[i] + bias[i];
    return;
  }
  switch (activation) {
    case Activation::none:
      return finish_with([](Vec v) { return v; }, x, bias, width, y);
    case Activation::gelu:
      return finish_with(gelu, x, bias, width, y);
    case Activation::gelu_tanh:
      return finish_with(gelu_tanh, x, bias, width, y);
    case Activation::relu:
      return finish_with([](Vec v) { return max(v, Vec{}); }, x, bias, width, y);
    case Activation::tanh:
      return finish_with(tanh, x, bias, width, y);
  }
}

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

// The same for `rows` rows, kRows at a time.
template <int V>
void tile_rows(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
               int64_t k, float* c, int64_t c_stride) {
  for (; rows >= kRows; rows -= kRows, a += kRows * a_stride, c += kRows * c_stride) {
    tile<kRows, V>(a, a_stride, b, b_stride, k, c, c_stride);
  }
  for (; rows >= 2; rows -= 2, a += 2 * a_stride, c += 2 * c_stride) {
    tile<2, V>(a, a_stride, b, b_stride, k, c, c_stride);
  }
  if (rows) tile<1, V>(a, a_stride, b, b_stride, k, c, c_stride);
}

// c[rows, columns] = a[rows, k] b[k, columns], columns a multiple of W.
void multiply(int64_t rows, int64_t columns, int64_t k, const float* a, int64_t a_stride,
              const float* b, int64_t b_stride, float* c, int64_t c_stride) {
  int64_t j = 0;
  for (; j + kPanel <= columns; j += kPanel) {
    tile_rows<kVectors>(rows, a, a_stride, b + j, b_stride, k, c + j, c_stride);
  }
  for (; j < columns; j += W) tile_rows<1>(rows, a, a_stride, b + j, b_stride, k, c + j, c_stride);
}

template <int... I>
struct Lanes {};
template <int N, int... I>
struct CountLanes : CountLanes<N - 1, N - 1, I...> {};
template <int... I>
struct CountLanes<0, I...> {
  typedef Lanes<I...> Type;
};
template <int... I>
inline Vec interleave_low(Vec a, Vec b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? W + I / 2 : I / 2)...);
}
template <int... I>
inline Vec interleave_high(Vec a, Vec b, Lanes<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? W + W / 2 + I / 2 : W / 2 + I / 2)...);
}

// Exchanges rows and columns: log2 W perfect shuffles of the rows' halves.
inline void transpose(Vec (&block)[W]) {
  const CountLanes<W>::Type lanes;
  for (int round = 1; round < W; round *= 2) {
    Vec shuffled[W];
#pragma GCC unroll 16
    for (int i = 0; i < W / 2; ++i) {
      shuffled[2 * i] = interleave_low(block[i], block[i + W / 2], lanes);
      shuffled[2 * i + 1] = interleave_high(block[i], block[i + W / 2], lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) block[i] = shuffled[i];
  }
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
  const int64_t most = task.length < kQueryBlock ? task.length : kQueryBlock;
  float* context = scores + most * keys;
  pack_keys(task, packed_keys);
  pack_values(task, packed_values);

  for (int64_t first = 0; first < task.length; first += kQueryBlock) {
    const int64_t left = task.length - first;
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

#define NAME_TEXT(name) #name
#define NAME(name) NAME_TEXT(name)

}  // namespace

extern const RowKernels kernels = {
    NAME(ROW_KERNELS), layer_norm, add3, finish, attention_scratch, attention,
};

}  // namespace bert::engine::ROW_KERNELS
