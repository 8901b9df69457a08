// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace bert::engine {

class Scheduler;

// The threads that compute one batch: the one that leads it, and threads of the scheduler that
// join it while they have nothing better to do. Used by the thread that leads it.
class Team {
 public:
  // For work outside Scheduler::run(), on all threads: waits until a processor is free.
  explicit Team(Scheduler& scheduler);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // The most threads that may work at a time; work is divided by this number.
  int threads() const { return members_->threads; }

  // Calls body(i, worker) once for every i in [0, count), with worker in [0, threads()), and
  // returns when all are done; rethrows the first exception of a body. Each worker takes its own
  // contiguous share in ascending order, then the shares of absent workers, then what is left of
  // the others' shares, from their ends.
  using Body = std::function<void(int64_t i, int worker)>;
  void run(int64_t count, const Body& body);
  // The first i of a worker's share; count if worker is threads().
  int64_t first_of(int worker, int64_t count) const { return members_->first_of(worker, count); }

 private:
  friend class Scheduler;
  // Shared with the threads that have joined, which may read it even when the team is gone.
  struct Members {
    explicit Members(int count) : threads(count), shares(count), taken(count) {}
    int64_t first_of(int worker, int64_t count) const { return worker * count / threads; }
    void work(int worker, const std::function<bool()>& leaves);
    int64_t take(int worker);
    int64_t take_from(int other, bool from_end);
    void help(int worker, const std::function<bool()>& leaves);

    const int threads;
    std::atomic<uint32_t> generation{0};  // changes with each job and at the end
    std::atomic<bool> over{false};
    std::atomic<int> present{0};  // helpers that have joined
    // kOpen while there is a job, plus the number of helpers working on it.
    std::atomic<uint32_t> state{0};
    static constexpr uint32_t kOpen = uint32_t{1} << 31;
    // The current job, written before it is opened.
    const Body* body = nullptr;
    struct alignas(64) Share {
      std::atomic<uint64_t> left{0};  // [begin, end): begin in the upper half, end in the lower
      std::atomic<bool> owned{false};
    };
    std::vector<Share> shares;  // by worker
    std::mutex error_mutex;
    std::exception_ptr error;
    std::vector<bool> taken;  // by worker; under the scheduler's mutex
  };
  // For a batch that the scheduler hands out; `small` as in Scheduler::Work. Takes no processor.
  Team(Scheduler& scheduler, int threads, bool small);

  // How many more helpers may join. With the scheduler's mutex held.
  int vacancies() const { return threads() - 1 - members_->present.load(); }

  Scheduler& scheduler_;
  const bool small_, has_processor_;
  std::chrono::steady_clock::time_point stays_until_{};  // the leader does not make way before then
  std::shared_ptr<Members> members_;
};

}  // namespace bert::engine
