// SPDX-License-Identifier: Apache-2.0
//
// Relative positions (Shaw et al. 2018, Huang et al. 2020, Raffel et al. 2020) over packed
// sequences.
#include "engine/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "engine/attention/positions/alibi.h"
#include "engine/attention/positions/rotary.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

constexpr int64_t kHeads = 3, kWidth = 13, kHidden = kHeads * kWidth, kLongest = 70;
const std::vector<int32_t> kStarts = {0, 1, 18, 88, 120};

struct Relative {
  std::vector<float> table;  // [2 kLongest - 1, D], or without keys [A, 2 kLongest - 1]
  bool with_query, with_key;

  // What is added to the score of the tokens i and j of a sequence.
  double at(const float* q, const float* k, int64_t head, int64_t i, int64_t j) const {
    if (!with_query) return table[head * (2 * kLongest - 1) + kLongest - 1 + j - i];
    const float* row = table.data() + (kLongest - 1 + i - j) * kWidth;
    double sum = 0;
    for (int64_t d = 0; d < kWidth; ++d) {
      sum += static_cast<double>(q[d]) * row[d];
      if (with_key) sum += static_cast<double>(k[d]) * row[d];
    }
    return sum;
  }
};

double score(const std::vector<float>& qkv, const Relative& relative, int64_t first, int64_t head,
             int64_t i, int64_t j) {
  const float* q = qkv.data() + (first + i) * 3 * kHidden + head * kWidth;
  const float* k = qkv.data() + (first + j) * 3 * kHidden + kHidden + head * kWidth;
  double sum = relative.at(q, k, head, i, j);
  for (int64_t d = 0; d < kWidth; ++d) sum += static_cast<double>(q[d]) * k[d];
  return sum / std::sqrt(static_cast<double>(kWidth));
}

void check(const Relative& relative, Reads reads) {
  const std::vector<float> qkv = random_floats(kStarts.back() * 3 * kHidden, 1, 1);
  Scheduler scheduler(2);
  Team team(scheduler);
  RelativeBias bias;
  bias.max_tokens = kLongest;
  bias.values.resize_discarding(std::ssize(relative.table));
  std::copy(relative.table.begin(), relative.table.end(), bias.values.data());
  std::optional<RelativeKeys> keys;
  const int64_t sequences = std::ssize(kStarts) - 1;
  Buffer scratch, context(kStarts.back() * kHidden), probabilities(kHeads * 120 * 120);
  AttentionOptions options{.heads = kHeads, .reads = reads, .probabilities = probabilities.data()};
  if (relative.with_query) {
    const ConstTensor table = {relative.table.data(), 2 * kLongest - 1, kWidth};
    options.keys = &keys.emplace(team, table, relative.with_key);
  } else {
    options.bias = &bias;
  }
  const bool all = reads == Reads::all;
  attention(team, {qkv.data(), kStarts.back(), 3 * kHidden}, kStarts, options, scratch,
            {context.data(), all ? kStarts.back() : sequences, kHidden});

  const float* found = probabilities.data();
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    const int64_t first = kStarts[sequence], length = kStarts[sequence + 1] - first;
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t i = 0; i < (all ? length : 1); ++i, found += length) {
        std::vector<double> weights(length), want(kWidth);
        double sum = 0;
        for (int64_t j = 0; j < length; ++j) {
          sum += weights[j] = std::exp(score(qkv, relative, first, head, i, j));
        }
        for (int64_t j = 0; j < length; ++j) {
          ASSERT_NEAR(found[j], weights[j] / sum, 1e-5) << "S " << length << ", " << i << ", " << j;
          const float* v = qkv.data() + (first + j) * 3 * kHidden + 2 * kHidden + head * kWidth;
          for (int64_t d = 0; d < kWidth; ++d) want[d] += weights[j] / sum * v[d];
        }
        const float* got = context.data() + (all ? first + i : sequence) * kHidden + head * kWidth;
        for (int64_t d = 0; d < kWidth; ++d) ASSERT_NEAR(got[d], want[d], 2e-5);
      }
    }
  }
}

TEST(Attention, AddsABiasByDistance) {
  const Relative relative = {random_floats(kHeads * (2 * kLongest - 1), 1, 2), false, false};
  for (const Reads reads : {Reads::all, Reads::first}) check(relative, reads);
}

TEST(Attention, MultipliesDistancesWithTheQuery) {
  const Relative relative = {random_floats((2 * kLongest - 1) * kWidth, 1, 3), true, false};
  for (const Reads reads : {Reads::all, Reads::first}) check(relative, reads);
}

TEST(Attention, MultipliesDistancesWithTheQueryAndTheKey) {
  const Relative relative = {random_floats((2 * kLongest - 1) * kWidth, 1, 4), true, true};
  for (const Reads reads : {Reads::all, Reads::first}) check(relative, reads);
}

// Against all of attention, with scores outside of the window left out; and the same bits for the
// first tokens alone.
TEST(WindowedAttention, ReachesAsFarAsTheWindow) {
  const std::vector<int32_t> starts = {0, 1, 40, 340};
  const std::vector<float> qkv = random_floats(340 * 3 * kHidden, 1, 9);
  const ConstTensor states = {qkv.data(), 340, 3 * kHidden};
  Scheduler scheduler(2);
  Team team(scheduler);
  for (const int64_t window : {1, 5, 64, 400}) {
    Buffer scratch, context(340 * kHidden), first(3 * kHidden),
        probabilities(kHeads * (1 + 39 * 39 + 300 * 300));
    AttentionOptions options{.heads = kHeads, .window = window};
    options.probabilities = probabilities.data();
    attention(team, states, starts, options, scratch, {context.data(), 340, kHidden});
    const float* found = probabilities.data();
    for (int64_t sequence = 0; sequence < 3; ++sequence) {
      const int64_t begin = starts[sequence], length = starts[sequence + 1] - begin;
      for (int64_t row = 0; row < kHeads * length; ++row, found += length) {
        const int64_t head = row / length, i = row % length;
        std::vector<double> weights(length), want(kWidth);
        double sum = 0;
        for (int64_t j = 0; j < length; ++j) {
          const bool attended = std::abs(i - j) <= window;
          double dot = 0;
          for (int64_t d = 0; d < kWidth; ++d) {
            dot += static_cast<double>(qkv[(begin + i) * 3 * kHidden + head * kWidth + d]) *
                   qkv[(begin + j) * 3 * kHidden + kHidden + head * kWidth + d];
          }
          weights[j] = attended ? std::exp(dot / std::sqrt(static_cast<double>(kWidth))) : 0;
          sum += weights[j];
        }
        for (int64_t j = 0; j < length; ++j) {
          ASSERT_NEAR(found[j], weights[j] / sum, 1e-5) << window << ": " << i << ", " << j;
          const float* v = qkv.data() + (begin + j) * 3 * kHidden + 2 * kHidden + head * kWidth;
          for (int64_t d = 0; d < kWidth; ++d) want[d] += weights[j] / sum * v[d];
        }
        const float* got = context.data() + (begin + i) * kHidden + head * kWidth;
        for (int64_t d = 0; d < kWidth; ++d) ASSERT_NEAR(got[d], want[d], 2e-5) << window;
      }
    }
    options.reads = Reads::first;
    options.probabilities = nullptr;
    attention(team, states, starts, options, scratch, {first.data(), 3, kHidden});
    for (int64_t sequence = 0; sequence < 3; ++sequence) {
      const float* whole = context.data() + starts[sequence] * kHidden;
      EXPECT_TRUE(std::equal(whole, whole + kHidden, first.data() + sequence * kHidden));
    }
  }
}

// Press et al. 2022: 12 heads have the slopes of 8, then every second one of 16.
TEST(LinearBiases, FallWithTheDistance) {
  const double slopes[] = {1.0 / 2,         1.0 / 4,         1.0 / 8,         1.0 / 16,
                           1.0 / 32,        1.0 / 64,        1.0 / 128,       1.0 / 256,
                           std::exp2(-0.5), std::exp2(-1.5), std::exp2(-2.5), std::exp2(-3.5)};
  const RelativeBias bias = linear_biases(12, 25, 40);
  for (int head = 0; head < 12; ++head) {
    for (const int64_t distance : {-39, -1, 0, 1, 17, 39}) {
      const double want = -slopes[head] * static_cast<double>(std::abs(distance)) * 5;
      EXPECT_NEAR(bias.of_head(head)[distance], want, 1e-5) << head << ", " << distance;
    }
  }
}

// Whichever way it takes: alone without windows, beside a longer sequence with them.
TEST(WindowedAttention, ThatReachesAllKeysIsAttentionWithoutAWindow) {
  constexpr int64_t kShort = 60, kAll = 300;
  const std::vector<float> qkv = random_floats(kAll * 3 * kHidden, 1, 11);
  const ConstTensor both = {qkv.data(), kAll, 3 * kHidden},
                    alone = {qkv.data(), kShort, 3 * kHidden};
  Scheduler scheduler(2);
  Team team(scheduler);
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    for (const int64_t window : {kShort - 1, kShort}) {
      Buffer scratch, want(kShort * kHidden), found(kShort * kHidden), of_both(kAll * kHidden);
      AttentionOptions options{.heads = kHeads, .precision = precision};
      const std::vector<int32_t> one = {0, kShort}, two = {0, kShort, kAll};
      attention(team, alone, one, options, scratch, {want.data(), kShort, kHidden});
      options.window = window;
      attention(team, alone, one, options, scratch, {found.data(), kShort, kHidden});
      attention(team, both, two, options, scratch, {of_both.data(), kAll, kHidden});
      ASSERT_TRUE(std::equal(want.data(), want.data() + want.size(), found.data())) << window;
      ASSERT_TRUE(std::equal(want.data(), want.data() + want.size(), of_both.data())) << window;
    }
  }
}

// As if each head of queries had a copy of the keys and values: the same bits.
TEST(SharedKeys, AreThoseOfNeighbouringHeads) {
  constexpr int kQueries = 6, kKeys = 2;
  constexpr int64_t kAll = kQueries * kWidth, kColumns = (kQueries + 2 * kKeys) * kWidth;
  const int64_t tokens = kStarts.back();
  const std::vector<float> shared = random_floats(tokens * kColumns, 1, 5);
  std::vector<float> copied;
  for (int64_t t = 0; t < tokens; ++t) {
    const float* row = shared.data() + t * kColumns;
    copied.insert(copied.end(), row, row + kAll);
    for (int64_t head = 0; head < 2 * kQueries; ++head) {  // of keys, then of values
      const float* of = row + kAll + head / (kQueries / kKeys) * kWidth;
      copied.insert(copied.end(), of, of + kWidth);
    }
  }
  Scheduler scheduler(2);
  Team team(scheduler);
  for (const int64_t window : {0, 7}) {
    for (const Reads reads : {Reads::all, Reads::first}) {
      const int64_t rows = reads == Reads::all ? tokens : std::ssize(kStarts) - 1;
      Buffer scratch, got(rows * kAll), want(rows * kAll);
      AttentionOptions options{.heads = kQueries, .reads = reads, .window = window};
      attention(team, {copied.data(), tokens, 3 * kAll}, kStarts, options, scratch,
                {want.data(), rows, kAll});
      options.key_heads = kKeys;
      attention(team, {shared.data(), tokens, kColumns}, kStarts, options, scratch,
                {got.data(), rows, kAll});
      ASSERT_TRUE(std::equal(got.data(), got.data() + got.size(), want.data())) << window;
    }
  }
}

// Su et al. 2021: pairs (d, d + D / 2) of queries and keys are turned, values are not.
void check_rotary(const std::vector<int32_t>& starts, int64_t longest) {
  constexpr int kWide = 26, kAll = 2 * kWide;
  const std::vector<float> before = random_floats(starts.back() * 3 * kAll, 1, 7);
  std::vector<float> qkv = before;
  Scheduler scheduler(2);
  Team team(scheduler);
  const std::vector<float> frequencies = rotary_frequencies(1000, kWide);
  const Rotary rotary(frequencies, longest);
  rotary.run(team, starts, 4, {qkv.data(), starts.back(), 3 * kAll});
  for (size_t sequence = 0; sequence + 1 < starts.size(); ++sequence) {
    for (int64_t t = starts[sequence]; t < starts[sequence + 1]; ++t) {
      for (int64_t i = 0; i < 3 * kAll; ++i) {
        const int64_t d = i % kWide, half = kWide / 2, first = t * 3 * kAll + i - d;
        const auto position = static_cast<double>(t - starts[sequence]);
        double want = before[t * 3 * kAll + i];
        if (i < 2 * kAll) {
          const double angle =
              position * std::pow(1000, -2.0 * static_cast<double>(d % half) / kWide);
          const double x = before[first + d % half], y = before[first + half + d % half];
          want = d < half ? x * std::cos(angle) - y * std::sin(angle)
                          : y * std::cos(angle) + x * std::sin(angle);
        }
        // Angles are rounded to float32.
        ASSERT_NEAR(qkv[t * 3 * kAll + i], want, 2e-5 + 2e-7 * position) << t << ", " << i;
      }
    }
  }
}

TEST(RotaryPositions, TurnQueriesAndKeysByTheirPositions) { check_rotary(kStarts, kLongest); }
TEST(RotaryPositions, AreMadeAsLongAsTheInputs) {
  check_rotary({0, 700, 703}, 701);
  check_rotary({0, 256, 513}, 1 << 20);
}

}  // namespace
}  // namespace bert::engine
