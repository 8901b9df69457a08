// SPDX-License-Identifier: Apache-2.0
//
// How a Scheduler's threads begin and end, and how it works without them in a child process.
#include <cfenv>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "engine/threads/scheduler_impl.h"

namespace bert::engine {

Scheduler::Scheduler(int threads) : processors_(threads), free_(threads), process_(getpid()) {
  idle_.reserve(threads);
  try {
    for (int i = 0; i < threads && threads > 1; ++i) {
      Thread& self = *threads_.emplace_back(std::make_unique<Thread>());
      self.thread = quiet_thread([this, &self] { serve(self); });
    }
  } catch (...) {  // the system has no more threads: stop those that already run
    threads_.pop_back();
    stop();
    throw;
  }
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
  // A forked child has none of the threads; joining or destroying them would crash, so leak them.
  if (in_child()) {
    new std::vector<std::unique_ptr<Thread>>(std::move(threads_));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& thread : threads_) thread->wake();
  }
  for (const auto& thread : threads_) thread->thread.join();
}

void Scheduler::run_in_child(const Work& work, const LeadBatch& lead) {
  for (int64_t i = 0; i < work.batches; ++i) {
    Team alone(*this, 1, true);
    lead(i, alone);
  }
}

std::thread quiet_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread([body = std::move(body)] {
    pthread_setname_np(pthread_self(), "bert-infer");
    std::fesetenv(FE_DFL_ENV);  // not that of the thread that loads the model
    body();
  });
}

}  // namespace bert::engine
