// SPDX-License-Identifier: Apache-2.0
//
// A process forks while its threads are within oneDNN.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/dense/linear.h"
#include "engine/threads/scheduler.h"
#include "tests/engine/random_floats.h"

namespace bert::engine {
namespace {

// oneDNN generates code for each number of inputs.
void multiply(Scheduler& scheduler, int64_t inputs) {
  Team team(scheduler);
  const std::vector<float> values(inputs, 1);
  const Linear::Part part{{values.data(), 1, inputs}, &kNoBias[0]};
  const Linear linear(team, std::vector{part}, Activation::none,
                      pick_product(Precision::f32, Backend::onednn));
  Buffer scratch;
  float y = 0;
  linear.run(team, {values.data(), 1, inputs}, scratch, {&y, 1, 1});
  if (y != static_cast<float>(inputs)) std::abort();
}

TEST(OneDnn, ChildrenGenerateCodeOfTheirOwn) {
  // Clang 14's address sanitizer forks without its allocator's locks: the child may wait for them.
  if (SANITIZED) GTEST_SKIP();
  Scheduler scheduler(1);
  multiply(scheduler, 1);  // chooses the product, once
  std::atomic<int64_t> inputs = 1;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!done) multiply(scheduler, ++inputs);
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      multiply(scheduler, 10000 + i);
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(inputs, 50);
}

}  // namespace
}  // namespace bert::engine
