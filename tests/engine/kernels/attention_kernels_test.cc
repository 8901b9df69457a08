// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kernels/kernel_table.h"
#include "tests/engine/kernels/tested_kernels.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

class AttentionKernelsTest : public testing::TestWithParam<const KernelTable*> {};

struct Attention {
  int64_t length, width, heads;
  std::vector<float> qkv, context, bias, probabilities;

  Attention(int64_t s, int64_t d, float scale)
      : length(s),
        width(d),
        heads(2),
        qkv(random_floats(s * 3 * 2 * d, scale, 4)),
        context(s * 2 * d, -7.0f),
        bias(s * (2 * s + 5), 0.0f),
        probabilities(2 * s * s + 1, 55.0f) {
    bias = random_floats(std::ssize(bias), scale, 5);
  }

  AttentionTask task(int64_t head) {
    const int64_t hidden = heads * width;
    return {.q = qkv.data() + head * width,
            .k = qkv.data() + hidden + head * width,
            .v = qkv.data() + 2 * hidden + head * width,
            .context = context.data() + head * width,
            .stride = 3 * hidden,
            .context_stride = hidden,
            .length = length,
            .width = width,
            .queries = length,
            .scale = 1.0f / std::sqrt(static_cast<float>(width))};
  }
  // Head 0 with a bias by distance, head 1 with one for each pair of tokens; with probabilities.
  AttentionTask biased(int64_t head) {
    AttentionTask with_bias = task(head);
    with_bias.bias = bias.data() + (head == 0 ? length - 1 : 3);
    with_bias.bias_stride = head == 0 ? -1 : 2 * length + 4;
    with_bias.probabilities = probabilities.data() + head * length * length;
    return with_bias;
  }
};

// Returns a bound on the error of arithmetic with relative rounding errors of `epsilon`: each
// product in a score is rounded, a score's absolute error is a weight's relative error, and the
// context is a weighted mean of values.
double attention_in_double(const AttentionTask& task, int64_t query, std::vector<double>& context,
                           std::vector<double>& weights, double epsilon = 0x1p-24) {
  weights.assign(task.length, 0);
  double top = -INFINITY, sum = 0, products = 0, values = 0;
  for (int64_t j = 0; j < task.length; ++j) {
    double dot = 0, size = 0;
    for (int64_t d = 0; d < task.width; ++d) {
      const double product =
          static_cast<double>(task.q[query * task.stride + d]) * task.k[j * task.stride + d];
      dot += product;
      size += std::abs(product);
    }
    if (task.bias) {
      dot += task.bias[query * task.bias_stride + j];
      size += std::abs(task.bias[query * task.bias_stride + j]);
    }
    products = std::max(products, size);
    weights[j] = dot / std::sqrt(static_cast<double>(task.width));
    top = std::max(top, weights[j]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - top);
  for (double& weight : weights) weight /= sum;
  context.assign(task.width, 0);
  for (int64_t j = 0; j < task.length; ++j) {
    for (int64_t d = 0; d < task.width; ++d) {
      context[d] += weights[j] * task.v[j * task.stride + d];
      values = std::max<double>(values, std::abs(task.v[j * task.stride + d]));
    }
  }
  const double score_error = epsilon * products / std::sqrt(static_cast<double>(task.width));
  return values * (2 * score_error + 16 * epsilon);
}

using AttentionKernel = void (*)(const AttentionTask&, float*);
void check_task(const AttentionTask& task, double epsilon) {
  double largest = 0;  // of the values
  for (int64_t j = 0; j < task.length; ++j) {
    for (int64_t d = 0; d < task.width; ++d) {
      largest = std::max<double>(largest, std::abs(task.v[j * task.stride + d]));
    }
  }
  // Of many queries a part, at every distance from the end of a block: the twin is what takes long.
  const int64_t step = task.length > 70 ? 23 : task.length > 20 ? 3 : 1;
  std::vector<double> want, weights;
  for (int64_t i = 0; i < task.length; i += step) {
    const double bound = attention_in_double(task, i, want, weights, epsilon);
    for (int64_t d = 0; d < task.width; ++d) {
      ASSERT_NEAR(task.context[i * task.context_stride + d], want[d], bound)
          << "S " << task.length << ", D " << task.width << ", query " << i << ", column " << d;
    }
    for (int64_t j = 0; task.probabilities && j < task.length; ++j) {
      ASSERT_NEAR(task.probabilities[i * task.length + j], weights[j], bound / largest)
          << "S " << task.length << ", D " << task.width << ", query " << i << ", key " << j;
    }
  }
}

void check_attention(const KernelTable& kernels, AttentionKernel attention, double epsilon) {
  for (const float scale : {0.3f, 1.0f, 6.0f}) {  // from nearly uniform to nearly one-hot
    for (const int64_t width : {1, 8, 13, 26, 32, 64, 70}) {
      for (const int64_t length : {1, 2, 3, 15, 16, 17, 31, 33, 48, 63, 65, 257}) {
        if (length > 65 && width != 13 && width != 64) continue;  // blocks are alike at all widths
        Attention a(length, width, scale);
        std::vector<float> scratch(kernels.attention_scratch(length, width) + 1, 99.0f);
        for (const bool biased : {false, true}) {
          for (int64_t head = 0; head < a.heads; ++head) {
            const AttentionTask task = biased ? a.biased(head) : a.task(head);
            attention(task, scratch.data());
            check_task(task, epsilon);
          }
        }
        ASSERT_EQ(scratch.back(), 99.0f) << "wrote past the scratch";
        ASSERT_EQ(a.probabilities.back(), 55.0f) << "wrote past the probabilities";
      }
    }
  }
}

TEST_P(AttentionKernelsTest, AgreeWithTheirTwinInDouble) {
  check_attention(*GetParam(), GetParam()->attention_f32, 0x1p-24);
  // Each of two factors is rounded by 2^-9; the 16 roundings that the bound allows for are f32's.
  check_attention(*GetParam(), GetParam()->attention_bf16, 0x1p-8 / 4);
}

// Unless the greatest score is subtracted, wherever it is, e^200 overflows and e^-200 underflows.
TEST_P(AttentionKernelsTest, SubtractTheGreatestScore) {
  for (const AttentionKernel attention : {GetParam()->attention_f32, GetParam()->attention_bf16}) {
    for (const int64_t length : {5, 16, 64, 70, 128, 147}) {
      Attention a(length, 1, 1.0f);
      const AttentionTask task = a.task(0);
      std::vector<float> scratch(GetParam()->attention_scratch(length, 1));
      for (int64_t at = -1; at < length; ++at) {  // -1: nowhere
        for (int64_t j = 0; j < length; ++j) {
          float* row = a.qkv.data() + j * task.stride;
          row[0] = 1;
          row[2] = j == at ? 200 : -200;
          row[4] = at < 0 || j == at ? 3 : -7;
        }
        attention(task, scratch.data());
        for (int64_t i = 0; i < length; ++i) {
          ASSERT_NEAR(task.context[i * task.context_stride], 3, 1e-5)
              << "S " << length << ", greatest at " << at << ", query " << i;
        }
      }
    }
  }
}

TEST_P(AttentionKernelsTest, GiveTheSameBitsForFewerQueries) {
  for (const AttentionKernel attention : {GetParam()->attention_f32, GetParam()->attention_bf16}) {
    for (const int64_t length : {1, 7, 64, 130}) {
      Attention a(length, 32, 1.0f);
      std::vector<float> scratch(GetParam()->attention_scratch(length, 32));
      AttentionTask task = a.biased(1);
      attention(task, scratch.data());
      const std::vector<float> first(task.context, task.context + 32);
      std::fill_n(task.context, 32, -7.0f);
      task.queries = 1;
      attention(task, scratch.data());
      EXPECT_TRUE(std::equal(first.begin(), first.end(), task.context)) << "S " << length;
    }
  }
}

// Scores that are hundreds apart: the softmax must neither overflow nor lose the greatest.
// Not even the smallest: products with it would be denormal, which takes Intel's processors long.
TEST_P(AttentionKernelsTest, GiveHiddenKeysNoWeight) {
  const KernelTable& kernels = *GetParam();
  for (const AttentionKernel attend : {kernels.attention_f32, kernels.attention_bf16}) {
    Attention attention(40, 16, 1);
    AttentionTask task = attention.biased(1);
    float* const bias = attention.bias.data() + 3;
    const auto is_hidden = [](int64_t key) { return key % 3 != 0; };
    for (int64_t i = 0; i < task.length * task.length; ++i) {
      const int64_t query = i / task.length, key = i % task.length;
      if (is_hidden(key)) bias[query * task.bias_stride + key] = -INFINITY;
    }
    std::vector<float> scratch(kernels.attention_scratch(task.length, task.width));
    attend(task, scratch.data());
    for (int64_t i = 0; i < task.length * task.length; ++i) {
      ASSERT_EQ(task.probabilities[i] == 0, is_hidden(i % task.length)) << i;
    }
    for (float* const probabilities : {task.probabilities, static_cast<float*>(nullptr)}) {
      task.probabilities = probabilities;
      attend(task, scratch.data());
      const std::vector<float> before = attention.context;
      Attention changed = attention;
      AttentionTask same = changed.biased(1);
      same.probabilities = probabilities;
      for (int64_t key = 0; key < task.length; ++key) {
        float* const value = changed.qkv.data() + (same.v - changed.qkv.data()) + key * same.stride;
        if (is_hidden(key)) std::fill_n(value, task.width, 1e37f);
      }
      attend(same, scratch.data());
      ASSERT_EQ(changed.context, before);
    }
  }
}

TEST_P(AttentionKernelsTest, SurvivesExtremeScores) {
  Attention a(40, 16, 60.0f);
  std::vector<float> scratch(GetParam()->attention_scratch(40, 16));
  GetParam()->attention_f32(a.task(0), scratch.data());
  std::vector<double> want, weights;
  for (int64_t i = 0; i < 40; ++i) {
    const double bound = attention_in_double(a.task(0), i, want, weights);
    for (int64_t d = 0; d < 16; ++d) ASSERT_NEAR(a.context[i * 32 + d], want[d], bound);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionKernelsTest, testing::ValuesIn(tested_kernels()),
                         [](const auto& test) { return test.param->name; });

}  // namespace
}  // namespace bert::engine
