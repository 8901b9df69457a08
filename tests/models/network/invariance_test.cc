// SPDX-License-Identifier: Apache-2.0
//
// What users take for granted: the same bits regardless of what else is in the batch, and
// embeddings as BERT defines them.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "models/directory/inspection.h"
#include "tests/models/goldens.h"

namespace bert {
namespace {

using models::read_safetensors;
using models::WeightFile;
using test::same_bits;

Model load(const std::string& name, int threads, int batch_tokens = 4096, int workers = 1,
           Precision precision = Precision::automatic, Backend backend = Backend::automatic) {
  Options options;
  options.backend = backend;
  options.precision = precision;
  options.threads = threads;
  options.workers = workers;
  options.batch_tokens = batch_tokens;
  return Model::load(test::golden(name), options);
}

// 32 inputs of lengths from 2 to 512, few of them multiples of any block size.
std::vector<Encoding> mixed_inputs(const Model& model, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<Encoding> inputs;
  for (int i = 0; i < 32; ++i) {
    const int most = i % 8 == 0 ? 512 : 70;
    const int length = std::uniform_int_distribution<int>(2, most)(generator);
    inputs.push_back(test::random_encoding(length, model.info().vocabulary, generator));
  }
  return inputs;
}

class BatchInvariance : public testing::TestWithParam<std::pair<const char*, Precision>> {};

void expect_invariance(const char* name, Precision precision, Backend backend) {
  SCOPED_TRACE(test::name_of(backend));
  const auto load_as = [&](int threads, int batch_tokens, int workers) {
    return load(name, threads, batch_tokens, workers, precision, backend);
  };
  const Model one = load_as(1, 4096, 1), two = load_as(2, 4096, 1), three = load_as(3, 100, 1);
  const Model workers = load_as(1, 3000, 3), teams = load_as(2, 500, 2);
  const std::vector<Encoding> inputs = mixed_inputs(one, 7);
  const Output batch = one.run(inputs);
  const std::vector<Hidden> states = one.hidden(inputs);
  const Output embeddings = one.embed(inputs);
  EXPECT_TRUE(same_bits(two.run(inputs).values, batch.values)) << "two threads";
  EXPECT_TRUE(same_bits(three.run(inputs).values, batch.values)) << "small batches, three threads";
  EXPECT_TRUE(same_bits(three.embed(inputs).values, embeddings.values));
  EXPECT_TRUE(same_bits(workers.run(inputs).values, batch.values)) << "three workers";
  EXPECT_TRUE(same_bits(teams.run(inputs).values, batch.values)) << "two teams of two";
  EXPECT_TRUE(same_bits(teams.embed(inputs).values, embeddings.values));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::span<const Encoding> alone(&inputs[i], 1);
    const Model& model = i % 2 ? one : two;
    ASSERT_TRUE(same_bits(model.run(alone).values, batch.row(i))) << "input " << i;
    ASSERT_TRUE(same_bits(model.embed(alone).values, embeddings.row(i))) << "input " << i;
    const std::vector<Hidden> hidden = model.hidden(alone);
    ASSERT_TRUE(same_bits(hidden[0].states.values, states[i].states.values)) << "input " << i;
    ASSERT_TRUE(same_bits(hidden[0].pooler, states[i].pooler)) << "input " << i;
  }
}

TEST_P(BatchInvariance, AnInputGivesTheSameBitsAloneInAnyBatchAndForAnyThreadCount) {
  const auto [name, precision] = GetParam();
  for (const Backend backend : test::backends_of(precision)) {
    expect_invariance(name, precision, backend);
  }
}

std::string model_and_precision(const testing::TestParamInfo<BatchInvariance::ParamType>& info) {
  std::string name = info.param.first;
  std::erase(name, '-');
  switch (info.param.second) {
    case Precision::bf16:
      return name + "_bf16";
    case Precision::int8:
      return name + "_int8";
    default:
      return name + "_f32";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Invariance, BatchInvariance,
    testing::Values(std::pair{"plain", Precision::f32}, std::pair{"tinybert", Precision::f32},
                    std::pair{"wide-heads", Precision::f32}, std::pair{"bf16", Precision::f32},
                    std::pair{"plain", Precision::bf16}, std::pair{"tinybert", Precision::bf16},
                    std::pair{"plain", Precision::int8}, std::pair{"tinybert", Precision::int8},
                    std::pair{"wide-heads", Precision::int8}),
    model_and_precision);

// run() computes the last layer only for the rows that the head reads, run_traced() for all rows.
TEST(Invariance, LogitsDoNotDependOnWhichRowsOfTheLastLayerAreComputed) {
  const Model model = load("plain", 2);
  const std::vector<Encoding> inputs = mixed_inputs(model, 11);
  const Output logits = model.run(inputs);
  for (size_t i = 0; i < inputs.size(); i += 5) {
    int seen = 0;
    models::run_traced(
        model, inputs[i],
        [&](std::string_view stage, const float* values, int64_t rows, int64_t columns) {
          if (stage != "logits") return;
          ++seen;
          EXPECT_TRUE(same_bits({values, static_cast<size_t>(rows * columns)}, logits.row(i))) << i;
        });
    EXPECT_EQ(seen, 1);
  }
}

// The last token before the padding is looked for within each input.
TEST(Invariance, TheLastTokenOfPaddingAloneIsItsOwn) {
  for (const char* name : {"mistral-classification", "qwen3-classification"}) {
    SCOPED_TRACE(name);
    const Model model = load(name, 2);
    const models::JsonFile config(test::golden(name) + "/config.json");
    const auto padding = config.root().at("pad_token_id").get<int32_t>();
    std::mt19937 generator(3);
    std::vector<Encoding> inputs;
    for (const int length : {9, 4, 12}) {
      inputs.push_back(test::random_encoding(length, model.info().vocabulary, generator));
      std::ranges::fill(inputs.back().type_ids, 0);
    }
    std::ranges::fill(inputs[1].ids, padding);
    const Output together = model.run(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(
          same_bits(model.run({&inputs[i], 1}).values, together.row(static_cast<int64_t>(i))))
          << i;
    }
  }
}

// int8 is calibrated on the same inputs whatever the maximum length.
TEST(Invariance, InputsThatFitDoNotDependOnTheMaximumLength) {
  const std::vector<Input> inputs = {{"two dogs"}, {"a man", "music"}};
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    Options options;
    options.precision = precision;
    const Output whole = Model::load(test::golden("plain"), options).embed(inputs);
    options.max_length = 9;
    const Model model = Model::load(test::golden("plain"), options);
    const Output cut = model.embed(inputs);
    EXPECT_TRUE(same_bits(cut.values, whole.values)) << model.info().precision;
  }
}

TEST(Invariance, OrderAndRepetitionOfInputsChangeNothing) {
  const Model model = load("plain", 2, 300);
  std::vector<Encoding> inputs = mixed_inputs(model, 8);
  const Output before = model.run(inputs);
  std::vector<size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(9));
  std::vector<Encoding> shuffled;
  for (const size_t i : order) shuffled.push_back(inputs[i]);
  const Output after = model.run(shuffled);
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_TRUE(same_bits(after.row(i), before.row(order[i])));
  }
}

TEST(Invariance, TheCallersRoundingModeDoesNotMatter) {
  for (const Precision precision : {Precision::f32, Precision::int8}) {
    const Model model = load("plain", 2, 4096, 1, precision);
    const std::vector<Encoding> inputs = mixed_inputs(model, 3);
    const Output want = model.run(inputs);
    for (const int mode : {FE_UPWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const Output got = model.run(inputs);
      const Output got_of_other = load("plain", 2, 4096, 1, precision).run(inputs);
      EXPECT_EQ(std::fegetround(), mode);
      std::fesetround(FE_TONEAREST);
      EXPECT_TRUE(same_bits(got.values, want.values));
      EXPECT_TRUE(same_bits(got_of_other.values, want.values));
    }
  }
}

#if defined(__x86_64__)
// What code compiled with -ffast-math sets: rounds downward, numbers near zero are zero.
TEST(Invariance, TheCallersVectorUnitDoesNotMatter) {
  const Model model = load("plain", 1);
  const std::vector<Encoding> inputs = mixed_inputs(model, 3);
  const Output want = model.run(inputs);
  constexpr unsigned kFlushes = 0x8040, kDownward = 0x2000, kFlags = 0x3f;
  const unsigned before = _mm_getcsr(), set = before | kFlushes | kDownward;
  _mm_setcsr(set);
  const Output got = model.run(inputs);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & ~kFlags, set & ~kFlags);
  EXPECT_TRUE(same_bits(got.values, want.values));
}
#endif

TEST(Invariance, AChildProcessComputesTheSame) {
  const Model model = load("plain", 1, 512, 2);
  const std::vector<Encoding> inputs = mixed_inputs(model, 4);
  const Output want = model.run(inputs);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool same = same_bits(model.run(inputs).values, want.values) &&
                      model.tokenize(std::vector<Input>{{"a man"}, {"dogs"}}).size() == 2;
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Whatever the parent's threads held when it forked, they hold for ever in the child.
TEST(Invariance, ChildrenOfABusyProcessCompute) {
  // Clang 14's address sanitizer forks without its allocator's locks: the child may wait for them.
  if (SANITIZED) GTEST_SKIP();
  for (const Backend backend : {Backend::panels, Backend::onednn}) {
    const Model model = load("plain", 2, 4096, 2, Precision::f32, backend);
    const std::vector<Encoding> inputs = mixed_inputs(model, 4);
    const Output want = model.run(inputs);
    std::atomic<bool> done = false;
    std::vector<std::thread> callers;
    for (int i = 0; i < 2; ++i) {
      callers.emplace_back([&] {
        while (!done) model.run(inputs);
      });
    }
    for (int i = 0; i < 10; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(30);
        _exit(same_bits(model.run(inputs).values, want.values) ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    done = true;
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(Invariance, MemoryThatWasGivenBackIsTakenAgain) {
  const Model model = load("plain", 2);
  const std::vector<Encoding> inputs = mixed_inputs(model, 5);
  const Output want = model.run(inputs);
  model.release_memory();
  EXPECT_TRUE(same_bits(model.run(inputs).values, want.values));
}

// For the thread sanitizer: all threads, and all their accesses to the model, are in instrumented
// code of our own.
TEST(Threads, EightCallersOfOneModelGetTheSameBits) {
  const Model model = load("plain", 2, 512, 2);
  std::vector<Encoding> inputs = mixed_inputs(model, 10);
  inputs.resize(24);
  const Output want = model.run(inputs);
  const Output want_embeddings = model.embed(inputs);
  std::vector<int> failures(8);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 3; ++round) {
        const size_t one = (caller + round) % inputs.size();  // a small call
        failures[caller] += !same_bits(model.run(std::span(&inputs[one], 1)).values, want.row(one));
        failures[caller] += !same_bits(model.run(inputs).values, want.values);
        failures[caller] += !same_bits(model.embed(inputs).values, want_embeddings.values);
        const std::vector<Input> texts = {{"a man plays", "the guitar"}, {"dogs"}};
        failures[caller] += model.tokenize(texts).size() != 2;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures, std::vector<int>(8));
}

std::vector<float> traced(const Model& model, const Encoding& input, const std::string& wanted) {
  std::vector<float> result;
  models::run_traced(
      model, input,
      [&](std::string_view stage, const float* values, int64_t rows, int64_t columns) {
        if (stage == wanted) result.assign(values, values + rows * columns);
      });
  return result;
}

// Devlin et al. 2019, figure 2: token, segment and position embeddings are summed, then normalised.
TEST(Embeddings, AreTheLayerNormOfTheSumOfThreeRows) {
  const Model model = load("plain", 1);
  const WeightFile file = read_safetensors(test::golden("plain") + "/model.safetensors");
  const auto tensor = [&](const std::string& name) { return file.find("bert.embeddings." + name); };
  std::mt19937 generator(11);
  const Encoding input = test::random_encoding(37, model.info().vocabulary, generator);
  const std::vector<float> got = traced(model, input, "embeddings");
  const int64_t h = model.info().hidden;
  for (int64_t t = 0; t < 37; ++t) {
    std::vector<double> sum(h);
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < h; ++j) {
      sum[j] = tensor("word_embeddings.weight")->at(input.ids[t] * h + j) +
               tensor("position_embeddings.weight")->at(t * h + j) +
               tensor("token_type_embeddings.weight")->at(input.type_ids[t] * h + j);
      mean += sum[j] / static_cast<double>(h);
    }
    for (const double x : sum) variance += (x - mean) * (x - mean) / static_cast<double>(h);
    for (int64_t j = 0; j < h; ++j) {
      const double want =
          (sum[j] - mean) / std::sqrt(variance + 1e-12) * tensor("LayerNorm.weight")->at(j) +
          tensor("LayerNorm.bias")->at(j);
      ASSERT_NEAR(got[t * h + j], want, 1e-5) << "token " << t << ", column " << j;
    }
  }
}

// The largest difference between an input's states and those of its permutation, permuted back.
double change_under_permutation(const Model& model) {
  std::mt19937 generator(12);
  const Encoding input = test::random_encoding(33, model.info().vocabulary, generator);
  std::vector<size_t> order(input.ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), generator);
  Encoding permuted = input;
  for (size_t i = 0; i < order.size(); ++i) {
    permuted.ids[i] = input.ids[order[i]];
    permuted.type_ids[i] = input.type_ids[order[i]];
  }
  const Hidden a = model.hidden(std::span(&input, 1))[0],
               b = model.hidden(std::span(&permuted, 1))[0];
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (int64_t j = 0; j < a.states.columns; ++j) {
      largest = std::max<double>(largest, std::abs(b.states.row(i)[j] - a.states.row(order[i])[j]));
    }
  }
  return largest;
}

TEST(Encoder, KnowsTheOrderOfTokensOnlyFromPositions) {
  EXPECT_LE(change_under_permutation(load("orderless", 2)), 1e-5);
  EXPECT_GE(change_under_permutation(load("plain", 2)), 0.1);
}

TEST(Segments, TheSecondStartsAfterTheFirstSeparator) {
  const Model model = load("plain", 1);
  const std::vector<Input> pairs = {{"a man plays the guitar", "the dog"}, {"", "x"}, {"one text"}};
  for (const Encoding& encoding : model.tokenize(pairs)) {
    size_t separators = 0;
    for (size_t i = 0; i < encoding.ids.size(); ++i) {
      EXPECT_EQ(encoding.type_ids[i], separators > 0 ? 1 : 0) << "token " << i;
      separators += model.tokenizer().token(encoding.ids[i]) == "[SEP]";
    }
  }
}

}  // namespace
}  // namespace bert
