// SPDX-License-Identifier: Apache-2.0
#include "engine/dense/linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/threads/scheduler.h"
#include "tests/engine/kernels/tested_kernels.h"
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
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return NAN;
}

Buffer shared_scratch;  // for all calls, as in a forward pass

// The panels of every instruction set that runs here.
std::vector<const Product*> panels_of(Precision precision) {
  std::vector<const Product*> all;
  for (const KernelTable* k : runnable_kernels()) all.push_back(&panel_product(precision, *k));
  return all;
}

// Every product that pick_product() may return for a precision, and panels that interleave their
// inputs; RowKernelsTest tests the other instruction sets.
std::vector<const Product*> products_of(Precision precision) {
  std::vector<const Product*> all = {panels_of(precision).back()},
                              others = {micro_kernel_product(precision), matmul_product(precision)};
  if (precision == Precision::f32) {
    for (const KernelTable* kernels : tested_kernels()) others.push_back(split_product(*kernels));
    for (const Product* p : panels_of(precision)) {
      if (p != all[0] && p->panel.interleaved_rows > 0) others.push_back(p);
    }
  }
  std::ranges::copy_if(others, std::back_inserter(all), [](const Product* p) { return p; });
  return all;
}

// The variance of the rounding errors of a row's values: of uniformly distributed errors it is the
// square of the step over 12, and the largest value determines the step.
double rounding_variance(Precision precision, const float* row, int64_t k, int32_t steps) {
  if (precision == Precision::f32) return 0;
  double largest = 0;
  for (int64_t i = 0; i < k; ++i) largest = std::max<double>(largest, std::abs(row[i]));
  const double step = precision == Precision::bf16 ? largest * 0x1p-7 : largest * 2 / steps;
  return step * step / 12;
}

Tensor fill(Buffer& buffer, int64_t rows, int64_t columns, const std::vector<float>& values) {
  const Tensor tensor = buffer.tensor(rows, columns);
  std::copy_n(values.begin(), rows * columns, tensor.data);
  return tensor;
}

// A result against its twin, element by element. In bf16 and int8, the rounding errors of inputs
// and weights add up as random errors do: results may be off by six standard deviations.
void expect_near_twin(const Product& product, Activation activation, ConstTensor x,
                      const std::vector<float>& weight, const std::vector<float>& bias,
                      ConstTensor y) {
  const int64_t k = x.columns, n = y.columns;
  for (int64_t i = 0; i < x.rows; i += 1 + x.rows / 16) {
    const double x_variance =
        rounding_variance(product.precision, x.row(i), k, product.panel.int8.max_input);
    for (int64_t j = 0; j < n; ++j) {
      const float* w = weight.data() + j * k;
      const double w_variance = rounding_variance(product.precision, w, k, 254);
      double sum = bias[j], size = 1, variance = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double each = static_cast<double>(x.row(i)[p]) * w[p];
        sum += each;
        size += std::abs(each);
        variance += x.row(i)[p] * x.row(i)[p] * w_variance + w[p] * w[p] * x_variance;
      }
      // k additions each round, in random directions; the slope of any activation is at most 1.13.
      const double bound = 4 * 0x1p-24 * size + 1.13 * 6 * std::sqrt(variance);
      ASSERT_NEAR(y.row(i)[j], activate(activation, sum), bound)
          << x.rows << "x" << n << "x" << k << " at " << i << ", " << j << ", "
          << name_of(product.precision) << " " << product.name();
    }
  }
}

// By inputs and columns.
class LinearTwin : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(LinearTwin, AgreesInDouble) {
  const auto [k, n] = GetParam();
  for (const auto& [precision, activation] : {std::pair{Precision::f32, Activation::none},
                                              {Precision::f32, Activation::gelu},
                                              {Precision::f32, Activation::gelu_tanh},
                                              {Precision::f32, Activation::relu},
                                              {Precision::f32, Activation::tanh},
                                              {Precision::f32, Activation::silu},
                                              {Precision::bf16, Activation::none},
                                              {Precision::bf16, Activation::gelu},
                                              {Precision::int8, Activation::none},
                                              {Precision::int8, Activation::gelu}}) {
    for (const Product* product : products_of(precision)) {
      for (const int64_t rows : {1, 2, 31, 33, 257, 513}) {
        const std::vector<float> weight = random_floats(n * k, 0.1f, 1),
                                 bias = random_floats(n, 1, 2),
                                 input = random_floats(rows * k, 1, 3);
        Scheduler scheduler(2);
        Team team(scheduler);
        const Linear::Part part{{weight.data(), n, k}, bias.data()};
        Linear linear(team, {&part, 1}, activation, *product);
        Buffer x_memory, y_memory;
        const Tensor x = fill(x_memory, rows, k, input), y = y_memory.tensor(rows, n);
        if (precision == Precision::int8) linear.quantise(team, measure_inputs(x));
        linear.run(team, x, shared_scratch, y);
        expect_near_twin(*product, activation, x, weight, bias, y);
        if (HasFatalFailure()) return;
      }
    }
  }
}

std::string shape_name(const testing::TestParamInfo<std::pair<int64_t, int64_t>>& of) {
  return fmt::format("{}x{}", of.param.first, of.param.second);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTwin,
                         testing::Values(std::pair{26, 3}, std::pair{48, 48}, std::pair{104, 312},
                                         std::pair{768, 31}, std::pair{3101, 70}),
                         shape_name);

// y = activation(x W^T + b) (x V^T + c), with as many inputs as are otherwise summed in parts.
TEST(Linear, MultipliesAGate) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    for (const Product* product : products_of(precision)) {
      for (const auto& [k, n, rows] : {std::tuple{48, 77, 31}, {3101, 70, 61}}) {
        const std::vector<float> w = random_floats(n * k, 0.1f, 1),
                                 v = random_floats(n * k, 0.1f, 2), bias = random_floats(n, 1, 3),
                                 input = random_floats(rows * k, 1, 4);
        Scheduler scheduler(2);
        Team team(scheduler);
        const Linear::Part gate_part{{w.data(), n, k}, bias.data()},
            up_part{{v.data(), n, k}, bias.data()};
        Linear gate(team, {&gate_part, 1}, Activation::silu, *product),
            up(team, {&up_part, 1}, Activation::none, *product);
        Buffer x_memory, want_memory, up_memory, got_memory;
        const Tensor x = fill(x_memory, rows, k, input);
        if (precision == Precision::int8) {
          gate.quantise(team, measure_inputs(x));
          up.quantise(team, measure_inputs(x));
        }
        const Tensor want = want_memory.tensor(rows, n), ups = up_memory.tensor(rows, n),
                     got = got_memory.tensor(rows, n);
        gate.run(team, x, shared_scratch, want);
        up.run(team, x, shared_scratch, ups);
        gate.run(team, x, shared_scratch, got);
        up.run_multiply(team, x, shared_scratch, got);
        for (int64_t i = 0; i < got.size(); ++i) {
          const double product_of_both = static_cast<double>(want.data[i]) * ups.data[i];
          // Sums of parts may be rounded in another order.
          ASSERT_NEAR(got.data[i], product_of_both, 1e-4 * (1 + std::abs(product_of_both)))
              << product->name() << " at " << i;
        }
      }
    }
  }
}

TEST(Linear, JoinsItsParts) {
  const std::vector<float> a = random_floats(5 * 7, 1, 1), b = random_floats(6 * 7, 1, 2),
                           bias = random_floats(11, 1, 3), input = random_floats(4 * 7, 1, 4);
  Scheduler scheduler(1);
  Team team(scheduler);
  const Linear::Part parts[] = {{{a.data(), 5, 7}, bias.data()},
                                {{b.data(), 6, 7}, bias.data() + 5}};
  std::vector<float> joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  const Linear::Part whole{{joined.data(), 11, 7}, bias.data()};
  const Product& f32 = pick_product(Precision::f32);
  const Linear by_parts(team, parts, Activation::none, f32),
      at_once(team, {&whole, 1}, Activation::none, f32);
  Buffer x_memory, y_memory, z_memory;
  const Tensor x = fill(x_memory, 4, 7, input), y = y_memory.tensor(4, 11),
               z = z_memory.tensor(4, 11);
  by_parts.run(team, x, shared_scratch, y);
  at_once.run(team, x, shared_scratch, z);
  EXPECT_EQ(std::memcmp(y.data, z.data, sizeof(float) * y.size()), 0);
}

// By inputs and columns.
class LinearBits : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

// Each row's bits are the same for any number of rows and threads, with and without the residual.
void expect_same_bits(const Product& product, bool add, int64_t k, int64_t n) {
  constexpr int64_t kMaxRows = 959;  // in two blocks at least, the last of 511
  const std::vector<float> weight = random_floats(int64_t{n} * k, 0.1f, 1),
                           bias = random_floats(n, 1, 2), input = random_floats(kMaxRows * k, 1, 3),
                           residual = random_floats(kMaxRows * n, 1, 4);
  std::vector<float> with_outlier = input;  // which int8 keeps in f32
  for (int64_t i = 0; i < kMaxRows; ++i) with_outlier[i * k + 3] *= 100;
  const std::vector<float>& inputs = add ? with_outlier : input;
  const bool is_int8 = product.precision == Precision::int8;
  std::vector<int64_t> heights = {kMaxRows, 31, 65, 127, 128, 130, 255, 512, 513};
  for (int64_t rows = 1; rows <= 25; ++rows) heights.push_back(rows);  // with kernels of their own
  std::vector<float> all;
  for (const int threads : {1, 2, 3}) {
    Scheduler scheduler(threads);
    Team team(scheduler);
    const Linear::Part part{{weight.data(), n, k}, bias.data()};
    Linear linear(team, {&part, 1}, add ? Activation::none : Activation::gelu, product);
    if (is_int8) linear.quantise(team, measure_inputs({inputs.data(), kMaxRows, k}));
    for (const int64_t rows : heights) {
      Buffer x_memory, y_memory;
      const int64_t first = kMaxRows - rows;
      const Tensor x = x_memory.tensor(rows, k), y = y_memory.tensor(rows, n);
      std::copy_n(inputs.begin() + first * k, rows * k, x.data);
      std::copy_n(residual.begin() + first * n, rows * n, y.data);
      add ? linear.run_add(team, x, shared_scratch, y) : linear.run(team, x, shared_scratch, y);
      if (all.empty()) all.assign(y.data, y.data + y.size());
      ASSERT_EQ(std::memcmp(y.data, all.data() + first * n, sizeof(float) * y.size()), 0)
          << rows << "x" << n << "x" << k << ", threads " << threads << ", add " << add << ", "
          << name_of(product.precision) << " " << product.name();
    }
    EXPECT_EQ(linear.exact_inputs(), is_int8 && add ? 1 : 0);
  }
}

TEST_P(LinearBits, AreTheSameAtEveryHeightAndThreadCount) {
  const auto [k, n] = GetParam();
  for (const auto& [precision, add] : {std::pair{Precision::f32, false},
                                       {Precision::f32, true},
                                       {Precision::bf16, true},
                                       {Precision::int8, false},
                                       {Precision::int8, true}}) {
    for (const Product* product : products_of(precision)) {
      expect_same_bits(*product, add, k, n);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearBits,
                         testing::Values(std::pair{104, 312}, std::pair{48, 2}, std::pair{300, 20},
                                         std::pair{768, 768}, std::pair{3101, 70},
                                         std::pair{1703, 649}),
                         shape_name);

TEST(Linear, AddsToTheResidual) {
  const std::vector<float> weight = random_floats(6 * 5, 1, 1), bias = random_floats(6, 1, 2),
                           input = random_floats(3 * 5, 1, 3),
                           residual = random_floats(3 * 6, 1, 4);
  Scheduler scheduler(1);
  Team team(scheduler);
  const Linear::Part part{{weight.data(), 6, 5}, bias.data()};
  const Linear linear(team, {&part, 1}, Activation::none, pick_product(Precision::f32));
  Buffer x_memory, y_memory, z_memory;
  const Tensor x = fill(x_memory, 3, 5, input), y = fill(y_memory, 3, 6, residual),
               z = z_memory.tensor(3, 6);
  linear.run_add(team, x, shared_scratch, y);
  linear.run(team, x, shared_scratch, z);
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y.data[i], z.data[i] + residual[i], 1e-6);
}

// What bert-convert writes: the same from every product, and the same again once it is read.
TEST(Linear, StoresItsInt8WeightsAlikeWhateverMultiplies) {
  constexpr int64_t kInputs = 103, kColumns = 133;
  std::vector<float> input = random_floats(20 * kInputs, 1, 1);
  for (int64_t i = 0; i < 20; ++i) input[i * kInputs + 3] *= 100;  // stays in f32
  const std::vector<float> weight = random_floats(kColumns * kInputs, 1, 2),
                           bias = random_floats(kColumns, 1, 3);
  Scheduler scheduler(1);
  Team team(scheduler);
  const Linear::Part part{{weight.data(), kColumns, kInputs}, bias.data()};
  std::optional<Linear::Stored> first;
  std::vector<const Product*> products = panels_of(Precision::int8);
  std::ranges::copy(products_of(Precision::int8), std::back_inserter(products));
  for (const Product* product : products) {
    Linear linear(team, {&part, 1}, Activation::none, *product);
    linear.quantise(team, measure_inputs({input.data(), 20, kInputs}));
    const Linear::Stored stored = linear.stored();
    if (!first) first = stored;
    const Linear::Stored again = Linear(team, stored, kInputs, Activation::none, *product).stored();
    for (const Linear::Stored* other : {&stored, &again}) {
      EXPECT_EQ(other->q, first->q) << product->name();
      EXPECT_THAT(other->scales, testing::Pointwise(testing::FloatEq(), first->scales));
      EXPECT_THAT(other->bias, testing::Pointwise(testing::FloatNear(1e-5f), first->bias));
      EXPECT_THAT(other->exact, testing::ElementsAre(3));
      EXPECT_EQ(other->exact_weights, first->exact_weights) << product->name();
    }
    EXPECT_EQ(again.bias, stored.bias);
    ASSERT_EQ(stored.q.size(), kColumns * kInputs);
    EXPECT_EQ(*std::ranges::max_element(stored.q), 127);
  }
}

// Sums of bytes that do not fit into 16 bits would saturate without a word.
TEST(Linear, Int8SumsDoNotSaturate) {
  constexpr int64_t kInputs = 96, kColumns = 40, kRows = 9;
  const std::vector<float> input(kRows * kInputs, 1), bias(kColumns);
  std::vector<float> weight(kColumns * kInputs);
  // As a file may have it that another program wrote: most sums of four weights do not fit.
  Linear::Stored large{.q = std::vector<int8_t>(weight.size()),
                       .scales = std::vector<float>(kColumns, 1.0f / 127),
                       .bias = bias,
                       .exact = {},
                       .exact_weights = {}};
  const auto sign = [](int64_t column) { return column % 3 == 0 ? 1 : column % 3 == 1 ? -1 : 0; };
  for (int64_t i = 0; i < std::ssize(weight); ++i) {
    const int whole = sign(i / kInputs);
    weight[i] = static_cast<float>(whole != 0 ? whole : i % 2);
    large.q[i] = static_cast<int8_t>(127 * weight[i]);
  }
  Scheduler scheduler(1);
  Team team(scheduler);
  const Linear::Part part{{weight.data(), kColumns, kInputs}, bias.data()};
  std::vector<const Product*> products = panels_of(Precision::int8);
  std::ranges::copy(products_of(Precision::int8), std::back_inserter(products));
  const auto check = [&](const Linear& linear) {
    Buffer x_memory, y_memory;
    const Tensor x = fill(x_memory, kRows, kInputs, input), y = y_memory.tensor(kRows, kColumns);
    linear.run(team, x, shared_scratch, y);
    for (int64_t i = 0; i < y.size(); ++i) {
      const int whole = sign(i % kColumns);
      ASSERT_NEAR(y.data[i], kInputs * (whole != 0 ? whole : 0.5), 0.01 * kInputs)
          << linear.product().name() << " at " << i;
    }
  };
  for (const Product* product : products) {
    Linear linear(team, {&part, 1}, Activation::none, *product);
    linear.quantise(team, measure_inputs({input.data(), kRows, kInputs}));
    check(linear);
    check(Linear(team, large, kInputs, Activation::none, *product));
  }
}

TEST(Linear, MultipliesInPlaceAsPacked) {
  constexpr int64_t kInputs = 77, kColumns = 301;
  const std::vector<float> weight = random_floats(kColumns * kInputs, 1, 1),
                           bias = random_floats(kColumns, 1, 2),
                           input = random_floats(5 * kInputs, 1, 3);
  Scheduler scheduler(2);
  Team team(scheduler);
  const Linear::Part part{{weight.data(), kColumns, kInputs}, bias.data()};
  for (const Product* product : products_of(Precision::f32)) {
    if (product->panel.split) continue;  // it takes no floats
    const Linear linear(team, {&part, 1}, Activation::none, *product);
    Buffer x_memory, y_memory, z_memory;
    const Tensor x = fill(x_memory, 5, kInputs, input), y = y_memory.tensor(5, kColumns),
                 z = z_memory.tensor(5, kColumns);
    linear.run(team, x, shared_scratch, y);
    multiply_in_place(team, *product, x, part.weight, bias.data(), z);
    EXPECT_EQ(std::memcmp(y.data, z.data, sizeof(float) * y.size()), 0) << product->name();
  }
}

TEST(Product, IsOfTheBackendThatIsAskedFor) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    EXPECT_EQ(pick_product(precision, Backend::panels).backend, Backend::panels);
    const bool exists = micro_kernel_product(precision) || matmul_product(precision);
    // Without AVX2 no panels are tuned.
    if (runnable_kernels().size() == 1) {
      EXPECT_EQ(pick_product(precision).backend, exists ? Backend::onednn : Backend::panels);
    }
    if (exists) {
      const Product& product = pick_product(precision, Backend::onednn);
      EXPECT_EQ(product.backend, Backend::onednn);
      EXPECT_EQ(product.name().find("ref"), std::string::npos) << product.name();
    } else {
      EXPECT_THAT([&] { pick_product(precision, Backend::onednn); },
                  testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("has no fast")));
    }
  }
}

}  // namespace
}  // namespace bert::engine
