// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::tanh:
      return std::tanh(x);
  }
  return NAN;
}

Tensor fill(Buffer& buffer, int64_t rows, int64_t columns, const std::vector<float>& values) {
  const Tensor tensor = buffer.tensor(rows, columns);
  std::copy_n(values.begin(), rows * columns, tensor.data);
  return tensor;
}

TEST(Linear, AgreesWithItsTwinInDouble) {
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                      Activation::relu, Activation::tanh}) {
    for (const auto& [k, n] : {std::pair{26, 3}, {48, 48}, {104, 312}, {768, 31}}) {
      for (const int64_t rows : {1, 2, 31, 33, 257, 513}) {
        const std::vector<float> weight = random_floats(int64_t{n} * k, 0.1f, 1),
                                 bias = random_floats(n, 1, 2),
                                 input = random_floats(rows * k, 1, 3);
        ThreadPool pool(2);
        const Linear::Part part{{weight.data(), n, k}, bias.data()};
        const Linear linear(pool, {&part, 1}, activation);
        Buffer x_memory, y_memory;
        const Tensor x = fill(x_memory, rows, k, input), y = y_memory.tensor(rows, n);
        linear.run(pool, x, y);
        for (int64_t i = 0; i < rows; i += 1 + rows / 40) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = bias[j], size = 1;
            for (int64_t p = 0; p < k; ++p) {
              const double product = static_cast<double>(x.row(i)[p]) * weight[j * k + p];
              sum += product;
              size += std::abs(product);
            }
            // Rounding after each of k additions, in random directions; no activation is steeper
            // than 1.13.
            const double bound = 4 * 0x1p-24 * size;
            ASSERT_NEAR(y.row(i)[j], activate(activation, sum), bound)
                << rows << "x" << n << "x" << k << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST(Linear, JoinsItsParts) {
  const std::vector<float> a = random_floats(5 * 7, 1, 1), b = random_floats(6 * 7, 1, 2),
                           bias = random_floats(11, 1, 3), input = random_floats(4 * 7, 1, 4);
  ThreadPool pool(1);
  const Linear::Part parts[] = {{{a.data(), 5, 7}, bias.data()},
                                {{b.data(), 6, 7}, bias.data() + 5}};
  std::vector<float> joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  const Linear::Part whole{{joined.data(), 11, 7}, bias.data()};
  const Linear by_parts(pool, parts, Activation::none),
      at_once(pool, {&whole, 1}, Activation::none);
  Buffer x_memory, y_memory, z_memory;
  const Tensor x = fill(x_memory, 4, 7, input), y = y_memory.tensor(4, 11),
               z = z_memory.tensor(4, 11);
  by_parts.run(pool, x, y);
  at_once.run(pool, x, z);
  EXPECT_EQ(std::memcmp(y.data, z.data, sizeof(float) * y.size()), 0);
}

// A batch must not change bits: each row's result is the same at every height, for every thread
// count, with and without the residual.
TEST(Linear, RowsAreTheSameBitsAtEveryHeightAndThreadCount) {
  constexpr int64_t kMost = 700;
  for (const auto& [k, n] : {std::pair{104, 312}, {48, 2}, {768, 768}, {2048, 300}}) {
    const std::vector<float> weight = random_floats(int64_t{n} * k, 0.1f, 1),
                             bias = random_floats(n, 1, 2), input = random_floats(kMost * k, 1, 3),
                             residual = random_floats(kMost * n, 1, 4);
    for (const bool add : {false, true}) {
      std::vector<float> all;
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        const Linear::Part part{{weight.data(), n, k}, bias.data()};
        const Linear linear(pool, {&part, 1}, add ? Activation::none : Activation::gelu);
        for (const int64_t rows : {700, 1, 2, 15, 16, 17, 31, 65, 127, 128, 130, 255, 512, 513}) {
          Buffer x_memory, y_memory;
          const int64_t first = kMost - rows;
          const Tensor x = x_memory.tensor(rows, k), y = y_memory.tensor(rows, n);
          std::copy_n(input.begin() + first * k, rows * k, x.data);
          std::copy_n(residual.begin() + first * n, rows * n, y.data);
          add ? linear.run_add(pool, x, y) : linear.run(pool, x, y);
          if (all.empty()) all.assign(y.data, y.data + y.size());
          ASSERT_EQ(std::memcmp(y.data, all.data() + first * n, sizeof(float) * y.size()), 0)
              << rows << "x" << n << "x" << k << ", threads " << threads << ", add " << add;
        }
      }
    }
  }
}

TEST(Linear, AddsToWhatIsThere) {
  const std::vector<float> weight = random_floats(6 * 5, 1, 1), bias = random_floats(6, 1, 2),
                           input = random_floats(3 * 5, 1, 3),
                           residual = random_floats(3 * 6, 1, 4);
  ThreadPool pool(1);
  const Linear::Part part{{weight.data(), 6, 5}, bias.data()};
  const Linear linear(pool, {&part, 1}, Activation::none);
  Buffer x_memory, y_memory, z_memory;
  const Tensor x = fill(x_memory, 3, 5, input), y = fill(y_memory, 3, 6, residual),
               z = z_memory.tensor(3, 6);
  linear.run_add(pool, x, y);
  linear.run(pool, x, z);
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y.data[i], z.data[i] + residual[i], 1e-6);
}

}  // namespace
}  // namespace bert::engine
