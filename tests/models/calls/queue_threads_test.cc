// SPDX-License-Identifier: Apache-2.0
//
// Queue under many threads, for the thread sanitizer. BERT_INFER_QUEUE_REQUESTS in the environment
// sets how many requests are made.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "models/bert_queue.h"
#include "tests/models/calls/held_queue.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// libstdc++.so counts the references to an exception out of the sanitizer's sight: it does not know
// that a caller has read the error before the queue's thread, by chance the last, frees it.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
#endif

namespace bert {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::same_bits;

int requests_to_make() {
  const char* given = std::getenv("BERT_INFER_QUEUE_REQUESTS");
  return given ? std::atoi(given) : 2000;
}

struct Counts {
  std::atomic<int> right{0}, wrong{0}, cancelled{0}, late{0}, closed{0};

  int all() const { return right + wrong + cancelled + late + closed; }
  void count(std::future<Output>& answer, std::span<const float> want) {
    try {
      ++(same_bits(answer.get().values, want) ? right : wrong);
    } catch (const Unanswered& error) {
      ++(error.reason() == Unanswered::Reason::cancelled  ? cancelled
         : error.reason() == Unanswered::Reason::deadline ? late
                                                          : closed);
    }
  }
};

// Requests of all sizes, of which many are cancelled at random moments or have a short deadline.
void ask_at_random(Queue& queue, const std::vector<Encoding>& inputs, const Output& want,
                   unsigned seed, int requests, Counts& counts) {
  std::mt19937 random(seed);
  std::vector<std::stop_source> sources(4);
  for (int i = 0; i < requests; ++i) {
    const size_t begin = random() % inputs.size();
    const size_t count = random() % 8 == 0 ? inputs.size() - begin : 1;
    const auto columns = static_cast<size_t>(want.columns);
    const auto wanted = std::span(want.values).subspan(begin * columns, count * columns);
    std::stop_source& source = sources[random() % sources.size()];
    RequestOptions options;
    if (random() % 2) options.stop = source.get_token();
    if (random() % 2) {
      options.deadline = steady_clock::now() + std::chrono::microseconds(random() % 20000);
    }
    if (random() % 2) options.progress = [](int64_t, int64_t) {};
    const std::vector<Encoding> some(inputs.begin() + static_cast<int64_t>(begin),
                                     inputs.begin() + static_cast<int64_t>(begin + count));
    if (random() % 8 == 0) {
      std::future<Output> answer = queue.embed(some, options);
      counts.count(answer, wanted);
    } else {
      queue.embed(some, options,
                  [&counts, wanted](std::future<Output> answer) { counts.count(answer, wanted); });
    }
    if (random() % 4) continue;
    source.request_stop();
    source = {};
  }
}

TEST(Threads, RequestsAreCancelledAndLateAtRandomMoments) {
  const Model model = test::load_golden("plain", 2);
  const Model many_threads = test::load_small_batches("plain", 64, 4);
  std::mt19937 random(1);
  std::vector<Encoding> inputs;
  for (int i = 0; i < 100; ++i) {
    inputs.push_back(test::random_encoding(1 + i % 12, model.info().vocabulary, random));
  }
  const Output want = model.embed(inputs);
  Counts counts;
  constexpr int kCallers = 4, kQueues = 4;
  const int each = requests_to_make() / (kCallers * kQueues);
  for (unsigned round = 0; round < kQueues; ++round) {
    Queue queue(round % 2 == 0 ? model : many_threads);
    std::vector<std::thread> callers;
    for (unsigned i = 0; i < kCallers; ++i) {
      callers.emplace_back(
          [&, i] { ask_at_random(queue, inputs, want, round * kCallers + i, each, counts); });
    }
    for (std::thread& caller : callers) caller.join();
  }  // which ends what waits
  EXPECT_EQ(counts.all(), kCallers * kQueues * each);
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(counts.right, 0);
  EXPECT_GT(counts.cancelled, 0);
  EXPECT_GT(counts.late, 0);
  std::printf("%d right, %d cancelled, %d late, %d closed\n", counts.right.load(),
              counts.cancelled.load(), counts.late.load(), counts.closed.load());
}

TEST(Threads, SixteenCallersOfAQueueGetTheModelsBits) {
  const Model model = test::load_golden("plain", 2);
  std::mt19937 random(2);
  std::vector<Encoding> inputs;
  for (int i = 0; i < 16; ++i) {
    inputs.push_back(test::random_encoding(5 + i, model.info().vocabulary, random));
  }
  const Output logits = model.run(inputs), embeddings = model.embed(inputs);
  Queue queue(model);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    callers.emplace_back([&, i] {
      const auto row = static_cast<int64_t>(i);
      for (int round = 0; round < 20; ++round) {
        wrong += !same_bits(queue.run(std::vector{inputs[i]}).get().values, logits.row(row));
        wrong += !same_bits(queue.embed(std::vector{inputs[i]}).get().values, embeddings.row(row));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(queue.statistics().batches, 640);
}

// A long text is one input, whose windows are computed in many batches.
TEST(Threads, ComputeNoFurtherBatchesOnceNobodyWaits) {
  const Model model = test::load_small_batches("bert-tokens", 64, 1);
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "dogs eat ";
  const std::vector<Input> inputs = {{text}};
  auto began = steady_clock::now();
  model.tag(inputs);
  const auto all = steady_clock::now() - began;
  std::stop_source source;
  {
    Queue queue(model);
    RequestOptions options;
    options.stop = source.get_token();
    options.progress = [&](int64_t, int64_t) {
      began = steady_clock::now();
      source.request_stop();
    };
    auto answer = queue.tag(inputs, {}, options);
    EXPECT_EQ(test::reason_of(answer), Unanswered::Reason::cancelled);
  }  // which waits for what is being computed
  EXPECT_LT(steady_clock::now() - began, all / 2);
}

}  // namespace
}  // namespace bert
