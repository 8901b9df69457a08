// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_pool.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/runtime.h"

namespace bert::engine {
namespace {

// As a static pool is when a child process exits.
TEST(ThreadPool, OfTheParentCanBeDestroyedInAFork) {
  auto pool = std::make_unique<ThreadPool>(4);
  std::atomic<int64_t> sum = 0;
  pool->run(100, [&](int64_t i, int) { sum += i; });
  const pid_t child = fork();
  if (child == 0) {
    pool.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool->run(100, [&](int64_t i, int) { sum += i; });
  EXPECT_EQ(sum, 2 * 4950);
}

TEST(Threads, APoolDoesEachPieceOnceJobAfterJob) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count = 0; count < 300; count = count * 2 + 1) {
      std::vector<int> done(count);  // not atomic: the sanitizer sees if two threads share one
      std::atomic<bool> bad_worker{false};
      pool.run(count, [&](int64_t i, int worker) {
        ++done[i];
        if (worker < 0 || worker >= threads) bad_worker = true;
      });
      EXPECT_EQ(done, std::vector<int>(count, 1));
      EXPECT_FALSE(bad_worker);
    }
  }
}

TEST(Threads, SeveralCallersOfOnePoolDoNotMixTheirJobs) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(6);
  for (size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int64_t> values(17);
        pool.run(17, [&](int64_t i, int) { values[i] = i; });
        for (const int64_t value : values) sums[caller] += value;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<int64_t>(sums.size(), 200 * 17 * 8));
}

TEST(Threads, AnExceptionReachesTheCallerAndThePoolLivesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto fail = [](int64_t i, int) {
      if (i == 20) throw std::runtime_error("at 20");
    };
    EXPECT_THROW(pool.run(100, fail), std::runtime_error);
    std::atomic<int> done{0};
    pool.run(100, [&](int64_t, int) { ++done; });
    EXPECT_EQ(done, 100);
  }
}

TEST(UsableThreads, AreAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(usable_threads(), 1);
  EXPECT_LE(usable_threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace bert::engine
