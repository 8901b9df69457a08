// SPDX-License-Identifier: Apache-2.0
//
// Long sequences, which attend to a block of keys at a time.
#include "engine/attention/block_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/attention/positions/alibi.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/random_floats.h"

namespace bert::engine::long_sequences {
namespace {

constexpr int kHeads = 2;
constexpr int64_t kWidth = 12, kHidden = kHeads * kWidth, kFarthest = 9000;

// A way to attend, and in double what it adds to the score q k of two tokens.
struct Variant {
  std::string name;
  int64_t window = 0;
  bool by_distance = false, with_query = false, with_key = false, disentangled = false;
  bool unattended = false;  // the last third of each sequence
  bool causal = false;
  bool sinks = false;
  bool by_pair() const { return with_query || disentangled; }
};
const Variant kVariants[] = {
    {.name = "plain"},
    {.name = "window", .window = 64},
    {.name = "wide window", .window = 4200},
    {.name = "ALiBi", .by_distance = true},
    {.name = "relative", .with_query = true},
    {.name = "relative, both", .with_query = true, .with_key = true},
    {.name = "disentangled", .disentangled = true},
    {.name = "unattended", .unattended = true},
    {.name = "causal", .causal = true},
    {.name = "both", .unattended = true, .causal = true},
    {.name = "sinks", .sinks = true},
    {.name = "all", .window = 4200, .unattended = true, .sinks = true},
    {.name = "sinks in a window", .window = 90, .sinks = true},
    {.name = "causal sinks", .causal = true, .sinks = true},
    {.name = "causal window", .window = 64, .causal = true},
    {.name = "wide causal window", .window = 4200, .causal = true, .sinks = true}};
// One that takes most of the probability, and one that takes nearly none.
constexpr float kSinks[kHeads] = {6.5f, -2.25f};

class Attending {
 public:
  explicit Attending(const Variant& variant) : variant_(variant) {
    Scheduler scheduler(2);
    Team team(scheduler);
    options_ = {.heads = kHeads, .window = variant.window, .causal = variant.causal};
    if (variant.sinks) options_.sinks = kSinks;
    table_ = random_floats((2 * kFarthest - 1) * kHidden, 1, 2);
    if (variant.by_distance) {
      bias_ = linear_biases(kHeads, kWidth, kFarthest);
      for (int64_t i = 0; i < bias_.values.size(); ++i) bias_.values.data()[i] += 2 * table_[i];
      options_.bias = &bias_;
    }
    if (variant.with_query) {
      const ConstTensor table = {table_.data(), 2 * kFarthest - 1, kWidth};
      options_.keys = &keys_.emplace(team, table, variant.with_key);
    }
    if (variant.disentangled) {
      disentangled_.emplace(rows_ = distance_rows(256, 512, kFarthest));
      disentangled_->set_tables(team, table_.data(), table_.data() + 512 * kHidden, 512, kHidden,
                                kHeads, kWidth);
      options_.disentangled = &*disentangled_;
    }
  }

  // Runs packed sequences. Returns the context, and the floats of scratch that it took.
  struct Result {
    std::vector<float> context;
    int64_t scratch;
  };
  Result run(const std::vector<float>& qkv, const std::vector<int32_t>& starts, int threads,
             Reads reads = Reads::all, float* probabilities = nullptr) const {
    Scheduler scheduler(threads);
    Team team(scheduler);
    AttentionOptions options = options_;
    options.reads = reads;
    options.probabilities = probabilities;
    std::vector<int32_t> attended;
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      attended.push_back(attended_of(starts[i + 1] - starts[i]));
    }
    if (variant_.unattended) options.attended = attended;
    const int64_t rows = reads == Reads::all ? starts.back() : std::ssize(starts) - 1;
    Result result = {std::vector<float>(rows * kHidden, -7), 0};
    Buffer scratch;
    attention(team, {qkv.data(), starts.back(), 3 * kHidden}, starts, options, scratch,
              {result.context.data(), rows, kHidden});
    result.scratch = scratch.size();
    return result;
  }

  // The softmax of the query i of a sequence of this length. qkv: from its first token on.
  std::vector<double> weights(const float* qkv, int64_t length, int64_t head, int64_t i) const {
    int64_t keys = variant_.unattended ? attended_of(static_cast<int32_t>(length)) : length;
    if (variant_.causal) keys = std::min(keys, i + 1);
    std::vector<double> scores(length, -INFINITY);
    for (int64_t j = 0; j < keys; ++j) {
      if (variant_.window == 0 || std::abs(i - j) <= variant_.window) {
        scores[j] = score(qkv, head, i, j);
      }
    }
    const double greatest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - greatest);
    if (variant_.sinks) sum += std::exp(kSinks[head] - greatest);
    for (double& score : scores) score /= sum;
    return scores;
  }

 private:
  static int32_t attended_of(int32_t length) { return length - length / 3; }

  double score(const float* qkv, int64_t head, int64_t i, int64_t j) const {
    const float* q = qkv + i * 3 * kHidden + head * kWidth;
    const float* k = qkv + j * 3 * kHidden + kHidden + head * kWidth;
    const double terms = variant_.disentangled ? 3 : 1;
    double sum = 0;
    for (int64_t d = 0; d < kWidth; ++d) {
      double to_query = k[d], to_key = 0;
      if (variant_.with_query) to_query += table_[(kFarthest - 1 + i - j) * kWidth + d];
      if (variant_.with_key) to_key += table_[(kFarthest - 1 + i - j) * kWidth + d];
      if (variant_.disentangled) {
        const int64_t row = rows_[kFarthest - 1 + i - j];
        to_query += table_[row * kHidden + head * kWidth + d];
        to_key += table_[(512 + row) * kHidden + head * kWidth + d];
      }
      sum += q[d] * to_query + k[d] * to_key;
    }
    if (variant_.by_distance) sum += bias_.of_head(head)[j - i];
    return sum / std::sqrt(terms * kWidth);
  }

  Variant variant_;
  AttentionOptions options_;
  std::vector<float> table_;
  std::vector<int32_t> rows_;
  RelativeBias bias_;
  std::optional<RelativeKeys> keys_;
  std::optional<Disentangled> disentangled_;
};

std::vector<float> random_states(int64_t tokens) {
  return random_floats(tokens * 3 * kHidden, 1, 5);
}

// Every 97th query, and the last.
void check(const Attending& attending, const std::vector<float>& qkv,
           const std::vector<int32_t>& starts, const std::vector<float>& context) {
  for (size_t sequence = 0; sequence + 1 < starts.size(); ++sequence) {
    const int64_t first = starts[sequence], length = starts[sequence + 1] - first;
    const float* states = qkv.data() + first * 3 * kHidden;
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t i = 0; i < length;
           i = i + 97 < length || i + 1 == length ? i + 97 : length - 1) {
        const std::vector<double> weights = attending.weights(states, length, head, i);
        std::vector<double> want(kWidth);
        for (int64_t j = 0; j < length; ++j) {
          const float* v = states + j * 3 * kHidden + 2 * kHidden + head * kWidth;
          for (int64_t d = 0; d < kWidth; ++d) want[d] += weights[j] * v[d];
        }
        const float* got = context.data() + (first + i) * kHidden + head * kWidth;
        for (int64_t d = 0; d < kWidth; ++d) {
          ASSERT_NEAR(got[d], want[d], 1e-5) << length << ": " << i << ", " << d;
        }
      }
    }
  }
}

// With a sequence that attends in blocks, between shorter ones.
std::vector<int32_t> starts_for(const Variant& variant) {
  return variant.by_pair() ? std::vector<int32_t>{0, 40, 1140, 2164, 4564}
                           : std::vector<int32_t>{0, 40, 1140, 9940};
}

TEST(BlockAttention, AgreesWithItsTwinInDouble) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    const Attending attending(variant);
    const std::vector<int32_t> starts = starts_for(variant);
    const std::vector<float> qkv = random_states(starts.back());
    check(attending, qkv, starts, attending.run(qkv, starts, 2).context);
  }
}

TEST(BlockAttention, GivesTheSameBitsInAnyBatchAndForAnyThreadCount) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    const Attending attending(variant);
    const std::vector<int32_t> starts = starts_for(variant);
    const std::vector<float> qkv = random_states(starts.back());
    const std::vector<float> all = attending.run(qkv, starts, 1).context;
    EXPECT_EQ(attending.run(qkv, starts, 3).context, all);
    const std::vector<float> first = attending.run(qkv, starts, 2, Reads::first).context;
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      const std::vector<float> alone(qkv.begin() + starts[i] * 3 * kHidden,
                                     qkv.begin() + starts[i + 1] * 3 * kHidden);
      const std::vector<float> context =
          attending.run(alone, {0, starts[i + 1] - starts[i]}, 2).context;
      EXPECT_TRUE(std::equal(context.begin(), context.end(), all.begin() + starts[i] * kHidden));
      EXPECT_TRUE(std::equal(context.begin(), context.begin() + kHidden,
                             first.begin() + static_cast<int64_t>(i) * kHidden));
    }
  }
}

TEST(BlockAttention, KeepsTheProbabilitiesOfAllKeys) {
  constexpr int64_t kLength = 1200;
  const std::vector<float> qkv = random_states(kLength);
  std::vector<float> probabilities(kHeads * kLength * kLength);
  for (const Variant& variant : kVariants) {
    if (variant.unattended) continue;
    SCOPED_TRACE(variant.name);
    const Attending attending(variant);
    const std::vector<float> context = attending.run(qkv, {0, kLength}, 2).context;
    EXPECT_EQ(attending.run(qkv, {0, kLength}, 2, Reads::all, probabilities.data()).context,
              context);
    for (int64_t row = 0; row < kHeads * kLength; row += 37) {
      const std::vector<double> want =
          attending.weights(qkv.data(), kLength, row / kLength, row % kLength);
      for (int64_t j = 0; j < kLength; ++j) {
        ASSERT_NEAR(probabilities[row * kLength + j], want[j], 1e-5) << row << ", " << j;
      }
    }
  }
}

// Twice the tokens take at most twice the memory, and no thread takes more than 32 MiB.
TEST(BlockAttention, TakesMemoryThatGrowsWithTheTokens) {
  const std::vector<float> qkv = random_states(4096);
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    const Attending attending(variant);
    const int64_t half = attending.run(qkv, {0, 2048}, 1).scratch;
    const int64_t whole = attending.run(qkv, {0, 4096}, 1).scratch;
    EXPECT_LE(whole, 2 * half);
    EXPECT_LE(whole * static_cast<int64_t>(sizeof(float)), 32 << 20);
  }
}

}  // namespace
}  // namespace bert::engine::long_sequences
