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

// Shares the processors among all callers of a model, anew at each batch. There are never more
// threads at work than processors. A caller leads its batches itself if a processor is free for it;
// the scheduler's threads lead the other batches, or help a team.
//
// Processors go first to small calls, then to helpers of their teams, then to large calls, then to
// helpers of theirs; within each kind, in turn or first come first served. A large call makes way
// for a small one in the middle of a batch (for at most three quarters of the time, so that it
// progresses too), and for another large one after a batch.
//
// The threads sleep when there is nothing to do, unlike OpenMP's, which spin between calls: on a
// busy machine that costs tens of times the work itself. They have a name and take no signals. A
// forked child has none of them: there, each call is computed by its caller alone.
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
    bool small = false;  // takes precedence over large ones
    int others = 0;      // calls of its kind about to come, which will want processors
  };
  // Calls lead(i, team) for every i in [0, batches), on this thread and the scheduler's, and
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

  // With `lock` holding mutex_, which may be released in between:
  void lead_batch(std::unique_lock<std::mutex>& lock, Call& call, int64_t i);
  void help(std::unique_lock<std::mutex>& lock, Thread& self);
  void take_processor(std::unique_lock<std::mutex>& lock, Waiter& self, bool small);
  // With mutex_ held:
  void give_back_processor(Waiter& self);
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
  std::deque<Waiter*> small_leaders_, large_leaders_;  // waiting for a processor
  std::vector<Call*> calls_;                           // begun, oldest first
  std::vector<Team*> teams_;                           // open to helpers, oldest first
  int leading_[2] = {};                                // teams, large and small
  std::vector<Thread*> idle_;
  std::chrono::steady_clock::duration small_served_{};  // since a large call last got a processor
  // How many processors are wanted while none is free: for small calls, and for leaders of any.
  // Changed with mutex_ held.
  std::atomic<int> small_leaders_waiting_{0}, small_wanted_{0}, leaders_wanted_{0};
  bool stopped_ = false;
  const int process_;  // the one in which the threads run
  std::vector<std::unique_ptr<Thread>> threads_;
};

// A thread that takes no signals and has a name that tools show.
std::thread quiet_thread(std::function<void()> body);

}  // namespace bert::engine
