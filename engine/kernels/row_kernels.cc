// SPDX-License-Identifier: Apache-2.0
//
// Sums and norms of rows.
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// sums[r] = the fold of sum = body(sum, r, i) over all whole vectors i, in four interleaved sums,
// as each addition waits for the previous one.
template <int R, typename Body>
inline void sum_vectors(int64_t whole, Vec (&sums)[R], const Body& body) {
  constexpr int kSums = 4;
  Vec parts[R][kSums] = {};
  int64_t i = 0;
  for (; i + kSums * W <= whole; i += kSums * W) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) parts[r][s] = body(parts[r][s], r, i + s * W);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    for (int64_t rest = i; rest < whole; rest += W) parts[r][0] = body(parts[r][0], r, rest);
    sums[r] = (parts[r][0] + parts[r][1]) + (parts[r][2] + parts[r][3]);
  }
}

// R rows at a time, so that while one waits for its sums the others proceed.
template <int R, bool Centred>
void norm_rows(const float* x, const float* gamma, const float* beta, float epsilon, int64_t width,
               float* y) {
  const int64_t whole = width / W * W, rest = width - whole;
  const auto row = [=](int r) { return x + r * width; };
  Vec sums[R];
  float mean[R] = {}, scale[R];
  if constexpr (Centred) {
    sum_vectors<R>(whole, sums, [=](Vec sum, int r, int64_t i) { return sum + load(row(r) + i); });
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      if (rest) sums[r] += load_part(row(r) + whole, rest, 0.0f);
      mean[r] = sum_lanes(sums[r]) / static_cast<float>(width);
    }
  }
  // The mean of (x - mean)^2: E[x^2] - mean^2 would cancel.
  sum_vectors<R>(whole, sums, [&](Vec sum, int r, int64_t i) {
    const Vec d = load(row(r) + i) - mean[r];
    return multiply_add(sum, d, d);
  });
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    if (rest) {
      const Vec d = load_part(row(r) + whole, rest, mean[r]) - mean[r];
      sums[r] = multiply_add(sums[r], d, d);
    }
    const float variance = sum_lanes(sums[r]) / static_cast<float>(width);
    scale[r] = 1.0f / __builtin_sqrtf(variance + epsilon);
  }
  for (int64_t i = 0; i < whole; i += W) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec normal = (load(row(r) + i) - mean[r]) * scale[r];
      store(y + r * width + i, multiply_add(load(beta + i), normal, load(gamma + i)));
    }
  }
  for (int r = 0; r < R && rest; ++r) {
    const Vec normal = (load_part(row(r) + whole, rest, mean[r]) - mean[r]) * scale[r];
    store_part(
        y + r * width + whole, rest,
        multiply_add(load_part(beta + whole, rest, 0), normal, load_part(gamma + whole, rest, 0)));
  }
}

template <bool Centred>
void norm_all(const float* x, const float* gamma, const float* beta, float epsilon, int64_t rows,
              int64_t width, float* y) {
  constexpr int kTogether = W == 16 ? 4 : 2;  // as many as the registers hold
  for (; rows >= kTogether; rows -= kTogether, x += kTogether * width, y += kTogether * width) {
    norm_rows<kTogether, Centred>(x, gamma, beta, epsilon, width, y);
  }
  for (; rows > 0; --rows, x += width, y += width) {
    norm_rows<1, Centred>(x, gamma, beta, epsilon, width, y);
  }
}

}  // namespace

void layer_norm(const float* x, const float* gamma, const float* beta, float epsilon,
                bool is_centred, int64_t rows, int64_t width, float* y) {
  (is_centred ? norm_all<true> : norm_all<false>)(x, gamma, beta, epsilon, rows, width, y);
}

void add3(const float* a, const float* b, const float* c, int64_t width, float* y) {
  for (int64_t i = 0; i < width; ++i) y[i] = a[i] + b[i] + c[i];
}

}  // namespace bert::engine::INSTRUCTION_SET
