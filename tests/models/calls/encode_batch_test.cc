// SPDX-License-Identifier: Apache-2.0
#include "models/calls/encode_batch.h"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"

namespace bert::models {
namespace {

tokenizer::TextEncoder small_encoder() {
  const tokenizer::TestDirectory directory;
  const auto definition = tokenizer::small_tokenizer({"a", "b", "c", "the", "##re", "!"});
  directory.write("tokenizer.json", definition.dump());
  return directory.load();
}

// Backwards, on this many threads.
ForEach on_threads(int threads) {
  return [threads](size_t count, const auto& body) {
    std::atomic<size_t> left = count;
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        for (size_t i; (i = left--) - 1 < count;) body(i - 1);
      });
    }
    for (std::thread& worker : workers) worker.join();
  };
}

TEST(EncodeBatch, IsInOrderOnAnyNumberOfThreads) {
  const tokenizer::TextEncoder encoder = small_encoder();
  std::vector<std::string> texts;
  std::vector<Texts> inputs;
  for (size_t i = 0; i < 1000; ++i) {
    texts.push_back(std::string(i % 7, 'a') + std::string(i * i % 50, ' ') + "b there");
    if (i % 300 == 0) texts.back() += std::string(200000, '!');
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    inputs.push_back({texts[i]});
    if (i % 3 == 0) inputs.back().second = texts[texts.size() - 1 - i];
  }
  for (const int threads : {1, 2, 5, 200}) {
    const std::vector<Encoding> got = encode_batch(encoder, inputs, 12, on_threads(threads));
    ASSERT_EQ(got.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Encoding expected = encoder.encode(inputs[i].first, inputs[i].second, 12);
      ASSERT_EQ(got[i].ids, expected.ids) << i;
      ASSERT_EQ(tokenizer::offsets_of(got[i]), tokenizer::offsets_of(expected)) << i;
    }
  }
  EXPECT_TRUE(encode_batch(encoder, {}, 0, on_threads(2)).empty());
}

TEST(EncodeBatch, ThrowsTheErrorOfTheFirstInput) {
  const tokenizer::TextEncoder encoder = small_encoder();
  std::vector<Texts> inputs(1000, Texts{"a b c"});
  const std::string much(1000, ' ');  // enough for many threads
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].second = much;
  for (const size_t bad : {990, 500, 333}) inputs[bad].first = "a\xff";
  for (const int threads : {1, 3}) {
    try {
      encode_batch(encoder, inputs, 0, on_threads(threads));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "input 333: the first text is not valid UTF-8 at byte 1");
    }
  }
}

// Before the next: that many long texts need not be held.
TEST(EncodeBatch, FinishesEachAsItIsMade) {
  const tokenizer::TextEncoder encoder = small_encoder();
  const std::vector<Texts> inputs(200, Texts{"a b c"});
  const std::vector<int32_t> whole = encoder.encode("a b c", std::nullopt, 0).ids;
  std::vector<size_t> finished;  // by the parts' ends
  size_t count = 0;
  const auto one_part_at_a_time = [&](size_t parts, const auto& body) {
    for (size_t i = 0; i < parts; ++i) {
      body(i);
      finished.push_back(count);
    }
  };
  const auto cut = [&](Encoding& encoding) {
    EXPECT_EQ(encoding.ids, whole);
    encoding.ids.resize(1);
    ++count;
  };
  for (const Encoding& each : encode_batch(encoder, inputs, 0, one_part_at_a_time, cut)) {
    EXPECT_EQ(each.ids.size(), 1u);
  }
  EXPECT_EQ(finished, (std::vector<size_t>{64, 128, 192, 200}));
}

}  // namespace
}  // namespace bert::models
