// SPDX-License-Identifier: Apache-2.0
#include "engine/row_kernels.h"

#include "engine/vectors.h"

namespace bert::engine::ROW_KERNELS {
namespace {

// The sum of body(i) over whole vectors, in four sums at a time: one addition waits for the last.
template <typename Body>
inline Vec sum_vectors(int64_t whole, const Body& body) {
  constexpr int kSums = 4;
  Vec sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * W <= whole; i += kSums * W) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) sums[s] += body(i + s * W);
  }
  for (; i < whole; i += W) sums[0] += body(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void layer_norm(const float* x, const float* gamma, const float* beta, float epsilon, int64_t width,
                float* y) {
  const int64_t whole = width / W * W, rest = width - whole;
  Vec sum = sum_vectors(whole, [=](int64_t i) { return load(x + i); });
  if (rest) sum += load_part(x + whole, rest, 0.0f);
  const float mean = sum_lanes(sum) / static_cast<float>(width);

  // Squares of what is left, and not E[x²] - mean²: that cancels.
  Vec squares = sum_vectors(whole, [=](int64_t i) {
    const Vec d = load(x + i) - mean;
    return d * d;
  });
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

#define NAME_TEXT(name) #name
#define NAME(name) NAME_TEXT(name)

}  // namespace

extern const RowKernels kernels = {
    NAME(ROW_KERNELS),
    layer_norm,
    add3,
    kPanel,
    pack_panel,
    {matmul_f32, matmul_bf16, matmul_int8},
    round_bf16,
    quantise_weights,
    kInt8,
    pack_int8,
    quantise_inputs,
    attention_scratch,
    attention_f32,
    attention_bf16,
};

}  // namespace bert::engine::ROW_KERNELS
