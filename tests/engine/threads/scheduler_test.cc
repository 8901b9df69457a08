// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/scheduler.h"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/runtime.h"

namespace bert::engine {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void busy_for(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
  }
}

// Exit status of a child process that calls body, or -1 if it was killed.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t sum_of(Scheduler& scheduler, int64_t batches, int64_t pieces) {
  std::atomic<int64_t> sum = 0;
  scheduler.run({.batches = batches, .at_once = 2},
                [&](int64_t, Team& team) { team.run(pieces, [&](int64_t i, int) { sum += i; }); });
  return sum;
}

// As a static model is when a child process exits.
TEST(Scheduler, OfTheParentCanBeDestroyedInAFork) {
  auto scheduler = std::make_unique<Scheduler>(4);
  EXPECT_EQ(sum_of(*scheduler, 3, 100), 3 * 4950);
  EXPECT_EQ(in_child([&] { scheduler.reset(); }), 0);
  EXPECT_EQ(sum_of(*scheduler, 3, 100), 3 * 4950);
}

TEST(Scheduler, AChildProcessComputesAlone) {
  Scheduler scheduler(4);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) sum_of(scheduler, 4, 100);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] {
                Team team(scheduler);
                team.run(3, [](int64_t, int) {});
                _exit(sum_of(scheduler, 3, 100) == 3 * 4950 ? 0 : 1);
              }),
              0);
  }
  stop = true;
  other.join();
}

TEST(Scheduler, ThreadsHaveANameAndTakeNoSignals) {
  const Scheduler scheduler(3);
  int named = 0;
  const auto deadline = Clock::now() + std::chrono::seconds(10);  // threads name themselves
  do {
    named = 0;
    DIR* tasks = opendir("/proc/self/task");
    while (const dirent* task = readdir(tasks)) {
      const std::string folder = std::string("/proc/self/task/") + task->d_name;
      std::string name, blocked;
      std::getline(std::ifstream(folder + "/comm"), name);
      if (name != "bert-infer") continue;
      std::ifstream status(folder + "/status");
      while (std::getline(status, blocked) && !blocked.starts_with("SigBlk")) {
      }
      if (!status) continue;  // a thread of an earlier test, which has ended meanwhile
      ++named;
      const uint64_t mask = std::stoull(blocked.substr(7), nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGPIPE}) {
        EXPECT_TRUE(mask >> (signal - 1) & 1) << signal;
      }
    }
    closedir(tasks);
  } while (named != 3 && Clock::now() < deadline);
  EXPECT_EQ(named, 3);
}

TEST(Scheduler, ThreadsRoundAsUsual) {
  std::fesetround(FE_UPWARD);
  Scheduler scheduler(3);
  std::fesetround(FE_TONEAREST);
  std::atomic<int> others = 0;
  for (int tries = 0; others == 0 && tries < 1000; ++tries) {
    Team team(scheduler);
    busy_for(std::chrono::microseconds(200));
    team.run(64, [&](int64_t, int worker) {
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      if (worker > 0) {
        ++others;
      } else {  // lets the others come to a processor, on a busy or an emulated machine too
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  EXPECT_GT(others, 0);
}

// A large call takes half a second on two threads. The small one would wait for all of it.
TEST(Scheduler, ASmallCallGoesFirst) {
  Scheduler scheduler(2);
  std::atomic<int64_t> left = 2 * 100;
  const auto large = [&](int64_t, Team& team) {
    team.run(100, [&](int64_t, int) {
      busy_for(milliseconds(5));
      --left;
    });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] { scheduler.run({.batches = 1}, large); });
  }
  while (left > 190) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) {
    scheduler.run({.batches = 1, .small = true}, [&](int64_t, Team& team) {
      team.run(2, [&](int64_t, int) { busy_for(milliseconds(1)); });
    });
  }
  EXPECT_GT(left, 50);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(left, 0);
}

TEST(Scheduler, LeavesProcessorsToTheCallsThatAreAboutToCome) {
  Scheduler scheduler(4);
  const auto lead = [](int64_t, Team& team) { EXPECT_EQ(team.threads(), 2); };
  scheduler.run({.batches = 1, .others = 1}, lead);
}

// Small calls without end, so many that some always wait, do not stop a large one.
TEST(Scheduler, ALargeCallGoesOnBesideSmallOnes) {
  Scheduler scheduler(2);
  std::atomic<bool> done = false;
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&] {
      while (!done) {
        scheduler.run({.batches = 1, .small = true},
                      [&](int64_t, Team&) { busy_for(milliseconds(2)); });
      }
    });
  }
  const auto begin = Clock::now();
  scheduler.run({.batches = 2, .at_once = 2}, [&](int64_t, Team& team) {
    team.run(20, [&](int64_t, int) { busy_for(milliseconds(1)); });
  });
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  done = true;
  for (std::thread& caller : callers) caller.join();
}

// What is left of a call is shared with threads that were busy when it began.
TEST(Scheduler, ThreadsThatAreFreeAgainJoinACall) {
  Scheduler scheduler(2);
  std::atomic<bool> began = false, helped = false;
  std::thread first([&] {
    scheduler.run({.batches = 2, .at_once = 2}, [&](int64_t, Team&) {
      began = true;
      busy_for(milliseconds(20));
    });
  });
  while (!began) std::this_thread::yield();
  const std::thread::id caller = std::this_thread::get_id();
  scheduler.run({.batches = 100, .at_once = 2}, [&](int64_t, Team&) {
    if (std::this_thread::get_id() != caller) helped = true;
    busy_for(milliseconds(1));
  });
  EXPECT_TRUE(helped);
  first.join();
}

// A caller that makes way for another one, while a thread takes the last batch of its call, waits
// for the end of the call and for no processor. Else it would be given one when it is long gone.
void make_way_and_meet() {
  Scheduler scheduler(2);
  const Scheduler::Work one{.batches = 1, .small = true};
  struct Busy {
    std::atomic<bool> began = false, over = false;
    std::thread caller = {};
    void begin(Scheduler& on, const Scheduler::Work& work) {
      caller = std::thread([&on, work, this] {
        on.run(work, [this](int64_t, Team& team) {
          began = true;
          while (!over) team.run(2, [](int64_t, int) {});  // so that its helper makes way
        });
      });
      while (!began) std::this_thread::yield();
    }
    void end() {
      over = true;
      caller.join();
    }
  } before, beside;
  before.begin(scheduler, one);
  beside.begin(scheduler, one);  // on one thread
  before.end();
  std::thread waiting;
  scheduler.run({.batches = 2, .at_once = 2, .small = true}, [&](int64_t i, Team&) {
    if (i > 0) return;
    waiting = std::thread([&] { scheduler.run(one, [](int64_t, Team&) {}); });
    std::this_thread::sleep_for(milliseconds(50));  // until it waits
  });
  beside.end();
  waiting.join();

  // Each of two callers is given a processor while the other one has one.
  std::atomic<int> at_work = 0;
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  const auto meet = [&](int64_t, Team& team) {
    ++at_work;
    while (at_work < 2 && Clock::now() < deadline) team.run(2, [](int64_t, int) {});
    EXPECT_EQ(at_work, 2);
  };
  std::thread other([&] { scheduler.run(one, meet); });
  scheduler.run(one, meet);
  other.join();
}

TEST(Scheduler, ACallThatMakesWayLeavesAllProcessorsFree) {
  for (int round = 0; round < 5; ++round) make_way_and_meet();
}

TEST(Threads, EachPieceIsDoneOnceJobAfterJob) {
  for (const int threads : {1, 2, 5}) {
    Scheduler scheduler(threads);
    EXPECT_EQ(scheduler.threads(), threads);
    Team team(scheduler);
    EXPECT_EQ(team.threads(), threads);
    for (int round = 0; round < 20; ++round) {
      for (int64_t count = 0; count < 300; count = count * 2 + 1) {
        std::vector<int> done(count);  // not atomic: the sanitizer sees if two threads share one
        std::atomic<bool> bad_worker{false};
        team.run(count, [&](int64_t i, int worker) {
          ++done[i];
          if (worker < 0 || worker >= threads) bad_worker = true;
        });
        EXPECT_EQ(done, std::vector<int>(count, 1));
        EXPECT_FALSE(bad_worker);
      }
    }
  }
}

// Never more at work than there are processors, and every batch once.
TEST(Threads, ManyCallersOfAllSizes) {
  for (const int threads : {1, 2, 3, 6}) {
    Scheduler scheduler(threads);
    std::atomic<int> at_work = 0;
    std::vector<std::thread> callers;
    for (unsigned seed = 0; seed < 7; ++seed) {
      callers.emplace_back([&, seed] {
        std::mt19937 random(seed);
        for (int round = 0; round < 60; ++round) {
          const int64_t batches = random() % 6, pieces = 1 + random() % 40;
          std::vector<int64_t> sums(batches);
          const auto lead = [&](int64_t batch, Team& team) {
            for (int job = 0; job < 4; ++job) {
              std::vector<int64_t> values(pieces);
              team.run(pieces, [&](int64_t i, int worker) {
                EXPECT_LE(++at_work, threads);
                EXPECT_LT(worker, team.threads());
                values[i] = i;
                if (i % 8 == 0) busy_for(std::chrono::microseconds(5));
                --at_work;
              });
              for (const int64_t value : values) sums[batch] += value;
            }
          };
          scheduler.run({.batches = batches,
                         .at_once = 1 + static_cast<int>(random() % 3),
                         .small = random() % 2 == 0},
                        lead);
          EXPECT_EQ(sums, std::vector<int64_t>(batches, 4 * pieces * (pieces - 1) / 2));
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(Threads, AnExceptionReachesTheCallerAndTheThreadsLiveOn) {
  for (const int threads : {1, 3}) {
    Scheduler scheduler(threads);
    for (int round = 0; round < 30; ++round) {
      const auto fail = [](int64_t batch, Team& team) {
        team.run(100, [&](int64_t i, int) {
          if (batch == 1 && i == 20) throw std::runtime_error("at 20");
        });
      };
      EXPECT_THROW(scheduler.run({.batches = 4, .at_once = 2}, fail), std::runtime_error);
      EXPECT_EQ(sum_of(scheduler, 2, 100), 2 * 4950);
    }
  }
}

TEST(UsableThreads, AreAtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(usable_threads(), 1);
  EXPECT_LE(usable_threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(UsableThreads, AreAsManyAsTheProcessorsThatTheProcessMayUse) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  int found = 0;
  std::thread([&] {  // of which each has its own
    if (sched_setaffinity(0, sizeof one, &one) == 0) found = usable_threads();
  }).join();
  EXPECT_EQ(found, 1);
  EXPECT_LE(usable_threads(), CPU_COUNT(&all));  // fewer where a control group has a quota
}

}  // namespace
}  // namespace bert::engine
