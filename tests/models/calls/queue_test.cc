// SPDX-License-Identifier: Apache-2.0
//
// Requests of a Queue wait, share batches and end as they should.
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/bert_queue.h"
#include "models/calls/workers.h"
#include "tests/models/calls/held_queue.h"

namespace bert {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::error_of;
using test::Held;
using test::load_golden;
using test::load_small_batches;
using test::mixed;
using test::reason_of;
using test::same_bits;
using Reason = Unanswered::Reason;

TEST(Queue, WhatWaitsIsTheNextBatch) {
  const Model model = load_golden("plain", 2);
  const std::vector<Encoding> inputs = mixed(model, 16, 20, 2);
  const Output want = model.embed(inputs);
  const int64_t tokens = models::count_tokens(inputs) + std::ssize(inputs[0].ids);
  Queue queue(model);
  std::vector<std::future<Output>> answers;
  {
    Held held(queue);
    for (const Encoding& input : inputs) answers.push_back(queue.embed(std::vector{input}));
    std::future<Output> other = queue.run(std::vector{inputs[0]});  // shares no batch with them
    EXPECT_EQ(queue.statistics().waiting_requests, 17);
    EXPECT_EQ(queue.statistics().waiting_tokens, tokens);
    EXPECT_EQ(queue.statistics().computing_requests, 1);
    EXPECT_EQ(queue.statistics().computing_tokens, std::ssize(test::kInput.ids));
    answers.push_back(std::move(other));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(same_bits(answers[i].get().values, want.row(static_cast<int64_t>(i)))) << i;
  }
  EXPECT_TRUE(same_bits(answers[16].get().values, model.run(std::vector{inputs[0]}).values));
  const QueueStatistics all = queue.statistics();
  EXPECT_EQ(all.batches, 3);
  EXPECT_EQ(all.batch_inputs, 18);
  EXPECT_EQ(all.batch_tokens, tokens + std::ssize(test::kInput.ids));
  EXPECT_EQ(all.answered, 18);
  EXPECT_EQ(all.waiting_requests + all.waiting_tokens + all.failed, 0);
}

TEST(Queue, WhereSeveralThreadsComputeEachTakesHalfOfItsShare) {
  Options options;
  options.workers = 2;
  const Model model = Model::load(test::golden("plain"), options);
  Queue queue(model);
  const std::vector<Encoding> request(20, mixed(model, 1, 1, 3)[0]);
  const int64_t tokens = models::count_tokens(request);
  std::vector<std::promise<void>> began(2);
  std::promise<void> asked;
  const std::shared_future<void> all_asked = asked.get_future().share();
  std::vector<std::future<Output>> answers;
  for (std::promise<void>& has_begun : began) {  // one for each thread
    answers.push_back(queue.embed(request, {.progress = [&](int64_t done, int64_t) {
                                    if (done > 0) return;
                                    has_begun.set_value();
                                    all_asked.wait();
                                  }}));
    has_begun.get_future().wait();
  }
  for (int64_t waiting = 0; waiting + tokens <= 200; waiting += tokens)
    answers.push_back(queue.embed(request));
  EXPECT_EQ(queue.statistics().batches, 2);
  asked.set_value();
  for (std::future<Output>& answer : answers) answer.get();
  // Although there was room for all in one, and for a thread's whole share of 120 tokens.
  EXPECT_GE(queue.statistics().batches, 2 + 4);
}

TEST(Queue, BatchesAreBoundedAndFirstComeFirstServed) {
  const Model model = load_small_batches("plain", 64, 1);
  Queue queue(model);
  const Encoding input = mixed(model, 1, 1, 3)[0];
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::promise<void>> done(10);
  {
    Held held(queue);
    for (int i = 0; i < 10; ++i) {  // of 20 tokens each
      queue.embed(std::vector<Encoding>(20, input), {}, [&, i](auto) {
        const std::lock_guard lock(mutex);
        order.push_back(i);
        done[i].set_value();
      });
    }
  }
  for (auto& each : done) each.get_future().wait();
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(queue.statistics().batches, 1 + 4);  // 64 + 64 + 64 + 8 tokens
  EXPECT_EQ(queue.statistics().batch_inputs, 1 + 200);
  std::vector<std::future<Output>> answers;
  {
    Held held(queue);
    Encoding long_one = input;
    long_one.ids.resize(20, input.ids[0]);
    long_one.type_ids.resize(20);
    for (int i = 0; i < 10; ++i) answers.push_back(queue.embed(std::vector{long_one}));
  }
  for (auto& answer : answers) answer.wait();
  EXPECT_EQ(queue.statistics().batches, 1 + 4 + 1 + 4);  // 60 + 60 + 60 + 20 tokens
}

TEST(Queue, ASmallRequestDoesNotWaitForALargeOneThatWasThereBefore) {
  const Model model = load_small_batches("plain", 4096);
  Queue queue(model);
  std::promise<void> small_is_done;
  std::future<Output> large =
      queue.embed(mixed(model, 100, 40, 4), {.progress = [&](int64_t done, int64_t) {
                    if (done == 0) small_is_done.get_future().wait();
                  }});
  queue.embed(std::vector{test::kInput}).get();
  small_is_done.set_value();
  EXPECT_EQ(large.get().rows, 100);
}

TEST(Queue, ARequestInTheBackgroundCountsAsLarge) {
  const Model model = load_small_batches("plain", 4096);
  Queue queue(model);
  const std::vector<Encoding> one = mixed(model, 1, 3, 4);
  std::promise<void> other_is_done;
  bool goes_first = true;
  std::future<Output> background = queue.embed(one, {.progress =
                                                         [&](int64_t done, int64_t) {
                                                           if (done > 0) return;
                                                           goes_first =
                                                               models::Workers::is_small(one);
                                                           other_is_done.get_future().wait();
                                                         },
                                                     .background = true});
  queue
      .embed(one,
             {.progress = [&](int64_t, int64_t) { EXPECT_TRUE(models::Workers::is_small(one)); }})
      .get();
  other_is_done.set_value();
  EXPECT_TRUE(same_bits(background.get().values, model.embed(one).values));
  EXPECT_FALSE(goes_first);
}

TEST(Queue, ALargeRequestLetsOthersGoBetweenItsParts) {
  const Model model = load_small_batches("plain", 600);
  Queue queue(model);
  const std::vector<Encoding> inputs = mixed(model, 600, 40, 5), fewer = mixed(model, 30, 40, 6);
  std::vector<int64_t> parts;
  std::future<Output> second;
  int64_t done_before_second = 0;
  std::promise<void> asked;
  std::future<Output> first = queue.embed(inputs, {.progress = [&](int64_t done, int64_t all) {
                                            EXPECT_EQ(all, 600);
                                            parts.push_back(done);
                                            if (done == 0) asked.get_future().wait();
                                            if (second.wait_for(0s) != std::future_status::ready)
                                              done_before_second = done;
                                          }});
  second = queue.embed(fewer);
  asked.set_value();
  EXPECT_TRUE(same_bits(first.get().values, model.embed(inputs).values));
  EXPECT_TRUE(same_bits(second.get().values, model.embed(fewer).values));
  EXPECT_GT(parts.size(), 10);
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_EQ(parts.back(), 600);
  EXPECT_LT(done_before_second, 200);
}

TEST(Queue, ACancelledRequestIsTakenOut) {
  const Model model = load_golden("plain", 2);
  Queue queue(model);
  std::stop_source source;
  std::future<Output> first, second;
  {
    Held held(queue);
    first = queue.embed(std::vector{test::kInput}, {.stop = source.get_token()});
    second = queue.embed(std::vector{test::kInput, test::kInput}, {.stop = source.get_token()});
    std::future<Output> other = queue.embed(std::vector{test::kInput});
    source.request_stop();
    EXPECT_EQ(queue.statistics().waiting_requests, 1);
    EXPECT_EQ(error_of(first), "the request was cancelled when 0 of 1 inputs were computed");
    EXPECT_EQ(reason_of(second), Reason::cancelled);
    held.release();
    EXPECT_EQ(other.get().rows, 1);
  }
  std::future<Output> late = queue.embed(std::vector{test::kInput}, {.stop = source.get_token()});
  EXPECT_EQ(reason_of(late), Reason::cancelled);
  EXPECT_EQ(queue.statistics().batch_inputs, 2);
  EXPECT_EQ(queue.statistics().failed, 3);
}

TEST(Queue, TheDeadlineOfARequestPasses) {
  const Model model = load_golden("plain", 2);
  Queue queue(model);
  const auto now = steady_clock::now();
  std::vector<int> order;  // in which they end
  std::promise<Reason> ended[2];
  const auto ask = [&](int i, steady_clock::duration wait) {
    queue.embed(std::vector{test::kInput}, {.deadline = now + wait}, [&, i](auto answer) {
      order.push_back(i);
      ended[i].set_value(reason_of(answer));
    });
  };
  Held held(queue);
  std::future<Output> late = queue.embed(std::vector{test::kInput}, {.deadline = now - 1ms});
  late.wait();  // from here on, nothing but the deadlines wakes who looks after them
  ask(1, 200ms);
  ask(0, 100ms);
  std::future<Output> in_time = queue.embed(std::vector{test::kInput}, {.deadline = now + 1h});
  EXPECT_EQ(error_of(late), "the deadline of the request passed when 0 of 1 inputs were computed");
  for (auto& each : ended) EXPECT_EQ(each.get_future().get(), Reason::deadline);
  EXPECT_GE(steady_clock::now(), now + 200ms);
  EXPECT_THAT(order, testing::ElementsAre(0, 1));
  EXPECT_EQ(queue.statistics().waiting_requests, 1);
  held.release();
  EXPECT_EQ(in_time.get().rows, 1);
  EXPECT_EQ(queue.statistics().batch_inputs, 2);
}

TEST(Queue, ARequestMayEndWhileItIsComputed) {
  const Model model = load_small_batches("plain", 600);
  Queue queue(model);
  std::stop_source source;
  std::vector<int64_t> parts;
  std::future<Output> answer =
      queue.embed(mixed(model, 600, 40, 7),
                  {.stop = source.get_token(), .progress = [&](int64_t done, int64_t) {
                     parts.push_back(done);
                     if (done > 100) source.request_stop();
                   }});
  EXPECT_THAT(error_of(answer),
              testing::MatchesRegex("the request was cancelled when 1.. of 600 inputs .*"));
  const size_t count = parts.size();
  EXPECT_LT(parts.back(), 200);
  EXPECT_EQ(queue.embed(mixed(model, 600, 40, 7)).get().rows, 600);
  EXPECT_EQ(parts.size(), count);
}

TEST(Queue, RequestsBeyondItsLimitsAreRefused) {
  const Model model = load_golden("plain", 2);
  Queue few(model, {.max_requests = 2}), short_ones(model, {.max_tokens = 20});
  std::vector<std::future<Output>> some, others;
  {
    Held held(few), held_too(short_ones);
    for (int i = 0; i < 3; ++i) some.push_back(few.embed(std::vector{test::kInput}));
    EXPECT_EQ(error_of(some[2]), "the queue is full: 2 requests wait, expected at most 2");
    for (int i = 0; i < 4; ++i) others.push_back(short_ones.embed(std::vector{test::kInput}));
    EXPECT_EQ(error_of(others[3]),
              "the queue is full: requests of 18 tokens wait, with 6 more expected at most 20");
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(others[i].get().rows, 1);
  EXPECT_EQ(short_ones.embed(mixed(model, 10, 40, 8)).get().rows, 10);  // none waits
  EXPECT_EQ(test::error_of([&] { Queue(model, {.max_tokens = -1}); }),
            "max_tokens is -1, expected at least 0");
}

TEST(Queue, WhatWaitsAtItsEndEndsAndWhatIsComputedIsAnswered) {
  std::promise<void> begun, release;
  std::vector<std::future<Output>> waiting;
  std::future<Output> computed;
  std::thread releasing;
  {
    Queue queue(load_golden("plain", 2));
    computed = queue.embed(std::vector{test::kInput}, {.progress = [&](int64_t done, int64_t) {
                             if (done > 0) return;
                             begun.set_value();
                             release.get_future().wait();
                           }});
    begun.get_future().wait();
    for (int i = 0; i < 5; ++i) waiting.push_back(queue.embed(std::vector{test::kInput}));
    releasing = std::thread([&] {
      for (auto& answer : waiting) answer.wait();
      release.set_value();
    });
  }
  EXPECT_EQ(computed.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(computed.get().rows, 1);
  EXPECT_EQ(error_of(waiting[0]), "the queue was destroyed when 0 of 1 inputs were computed");
  for (size_t i = 1; i < waiting.size(); ++i) EXPECT_EQ(reason_of(waiting[i]), Reason::closed);
  releasing.join();
}

TEST(Queue, ARequestFromACallbackAtItsEndEndsToo) {
  std::promise<Reason> ended;
  std::promise<void> begun, release;
  {
    const auto queue = std::make_unique<Queue>(load_golden("plain", 2));
    Queue& asked = *queue;
    asked.embed(std::vector{test::kInput},
                {.progress =
                     [&](int64_t done, int64_t) {
                       if (done > 0) return;
                       begun.set_value();
                       release.get_future().wait();
                     }},
                [](auto) {});
    begun.get_future().wait();
    asked.embed(std::vector{test::kInput}, {}, [&](std::future<Output> answer) {
      EXPECT_EQ(reason_of(answer), Reason::closed);
      asked.embed(std::vector{test::kInput}, {},
                  [&](std::future<Output> next) { ended.set_value(reason_of(next)); });
      release.set_value();
    });
  }
  EXPECT_EQ(ended.get_future().get(), Reason::closed);
}

TEST(Queue, CallbacksMayAskAgainAndThrow) {
  const Model model = load_golden("plain", 2);
  Queue queue(model);
  std::promise<Output> last;
  std::function<void(std::future<Output>, int)> again = [&](std::future<Output> answer, int left) {
    Output output = answer.get();
    if (left == 0) return last.set_value(std::move(output));
    queue.embed(std::vector{test::kInput}, {.progress = [](int64_t, int64_t) { throw 1; }},
                [&, left](std::future<Output> next) {
                  again(std::move(next), left - 1);
                  throw std::runtime_error("from a callback");
                });
  };
  again(queue.embed(std::vector{test::kInput}), 20);
  EXPECT_TRUE(
      same_bits(last.get_future().get().values, model.embed(std::vector{test::kInput}).values));
}

TEST(Queue, AnAnswerComesWhenNothingIsLeftOfTheRequestsOptions) {
  Queue queue(load_golden("plain", 2));
  const auto given = std::make_shared<int>();
  RequestOptions options;
  options.progress = [given](int64_t, int64_t) {};
  std::promise<int64_t> owners;
  queue.embed(std::vector{test::kInput}, std::move(options),
              [&](auto) { owners.set_value(given.use_count()); });
  EXPECT_EQ(owners.get_future().get(), 1);
}

TEST(Queue, AForkedChildComputesByItself) {
  // Clang 14's address sanitizer forks without its allocator's locks: the child may wait for them.
  if (SANITIZED) GTEST_SKIP();
  const Model model = load_small_batches("plain", 64);
  const std::vector<Encoding> inputs = mixed(model, 20, 20, 9);
  const Output want = model.embed(inputs);
  auto queue = std::make_unique<Queue>(model);
  Held held(*queue);  // so that the child's queue has a request that nobody will answer
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool same = same_bits(queue->embed(inputs).get().values, want.values);
    std::stop_source source;
    bool called = false;
    queue->embed(
        inputs,
        {.stop = source.get_token(), .progress = [&](int64_t, int64_t) { source.request_stop(); }},
        [&](std::future<Output> answer) { called = reason_of(answer) == Reason::cancelled; });
    same = same && called && queue->statistics().answered == 0;
    std::future<Output> late = queue->embed(inputs, {.deadline = steady_clock::now() - 1ms});
    same = same && error_of(late).starts_with("the deadline of the request passed");
    std::vector<int64_t> parts;
    queue->embed(inputs, {.progress = [&](int64_t done, int64_t) { parts.push_back(done); }}).get();
    same = same && parts.front() == 0 && parts.back() == 20;
    queue.reset();
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace bert
