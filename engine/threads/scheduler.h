// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/threads/team.h"

namespace bert::engine {

// Shares the processors out among all callers of a model, anew at each batch. Never more threads
// work than there are processors for. A caller leads its batches itself if there is a processor
// free for it; the scheduler's threads lead the other batches, or help a team.
//
// Processors go to, in this order, and in turns or first come first served in each kind: small
// calls, helpers of their teams, large calls, helpers of theirs. A large call makes way for a small
// one in the middle of a batch (for at most three quarters of the time, so that it goes on too),
// for another large one after a batch.
//
// The threads sleep when there is nothing to do, unlike OpenMP's, which spin between calls: on a
// busy machine that costs tens of times the work itself. They have a name and take no signals. A
// child process has none of them: there, calls are computed by their own threads alone.
class Scheduler {
 public:
  // Throws std::system_error if the threads cannot be started.
  explicit Scheduler(int threads);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  int threads() const { return processors_; }

  using LeadBatch = std::function<void(int64_t i, Team& team)>;
  struct Work {
    int64_t batches = 0;
    int at_once = 1;     // batches
    bool small = false;  // goes before those that are not
    int others = 0;      // calls of its kind that are about to come, and will want processors
  };
  // Calls lead(i, team) for every i in [0, batches), here and on the scheduler's threads, and
  // returns when all have returned. After an exception, no further batches begin; rethrows the
  // first.
  void run(const Work& work, const LeadBatch& lead);

 private:
  friend class Team;
  struct Waiter;
  struct Call;
  struct Thread;

  bool in_child() const;
  void run_in_child(const Work& work, const LeadBatch& lead);
  void stop();
  void serve(Thread& self);
  void enter(Team& team);
  void leave(Team& team);
  bool is_wanted_by_small() const { return small_wanted_.load(std::memory_order_relaxed) > 0; }
  void make_way(Team& team);

  // With mutex_ held, in which `lock` is; it may be released in between:
  void lead_batch(std::unique_lock<std::mutex>& lock, Call& call, int64_t i);
  void help(std::unique_lock<std::mutex>& lock, Thread& self);
  void take_seat(std::unique_lock<std::mutex>& lock, Waiter& self, bool small);
  // With mutex_ held:
  void give_back_seat(Waiter& self);
  int planned_threads(const Call& call) const;
  void enlist(Team& team);
  void dismiss(Team& team);
  bool others_wait(bool small) const;
  Thread& take_idle();
  void share_out();
  void share_out_among_many();
  bool recruit(Team& team);
  bool give_turn();
  bool give_to_leader(std::deque<Waiter*>& waiting);
  bool give_to_call(bool small);
  bool give_to_team(bool small);

  const int processors_;
  std::mutex mutex_;
  int free_;                                           // processors
  std::deque<Waiter*> small_leaders_, large_leaders_;  // that wait for a processor
  std::vector<Call*> calls_;                           // that have begun, oldest first
  std::vector<Team*> teams_;                           // that may be joined, oldest first
  int leading_[2] = {};                                // teams, large and small
  std::vector<Thread*> idle_;
  std::chrono::steady_clock::duration small_served_{};  // since a large call got a processor
  // How many processors are wanted while none is free: for small calls, and for leaders of any.
  // Changed with mutex_ held.
  std::atomic<int> small_leaders_waiting_{0}, small_wanted_{0}, leaders_wanted_{0};
  bool stopped_ = false;
  const int process_;  // in which the threads run
  std::vector<std::unique_ptr<Thread>> threads_;
};

// A thread that takes no signals, with a name that tools show.
std::thread quiet_thread(std::function<void()> body);

}  // namespace bert::engine
