// SPDX-License-Identifier: Apache-2.0
//
// A call to a Scheduler takes a processor and leads its batches, each with a team of threads.
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include "engine/threads/scheduler_impl.h"

namespace bert::engine {

void Scheduler::Waiter::wait(std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [this] { return has_processor || (call && call->is_over()); });
}

bool Scheduler::in_child() const { return getpid() != process_; }

void Scheduler::run(const Work& work, const LeadBatch& lead) {
  if (work.batches == 0) return;
  if (in_child()) return run_in_child(work, lead);
  std::unique_lock lock(mutex_);
  Call call{work, lead};
  call.caller.call = &call;
  calls_.push_back(&call);
  try {
    take_processor(lock, call.caller, work.small);
    while (call.caller.has_processor && call.has_batches()) {
      const int64_t i = call.begin_batch();
      share_out();  // the next batch may be led by another thread
      lead_batch(lock, call, i);
      if (!call.has_batches() || !others_wait(work.small)) continue;
      give_back_processor(call.caller);
      if (call.has_batches()) take_processor(lock, call.caller, work.small);
    }
  } catch (...) {  // no memory to wait
    call.fail(std::current_exception());
  }
  remove_from(calls_, &call);
  if (call.caller.has_processor) give_back_processor(call.caller);
  call.caller.wait(lock);
  if (call.error) std::rethrow_exception(call.error);
}

// Leads a batch that begin_batch() began.
void Scheduler::lead_batch(std::unique_lock<std::mutex>& lock, Call& call, int64_t i) {
  const Clock::time_point begin = Clock::now();
  std::exception_ptr error;
  try {
    Team team(*this, planned_threads(call), call.work.small);
    team.stays_until_ = std::exchange(call.caller.stays_until, {});
    enlist(team);
    lock.unlock();
    try {
      call.lead(i, team);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    dismiss(team);
  } catch (...) {  // no memory for the team
    error = std::current_exception();
  }
  if (call.work.small && !large_leaders_.empty()) small_served_ += Clock::now() - begin;
  if (error) {
    call.fail(error);
    remove_from(call.work.small ? small_leaders_ : large_leaders_, &call.caller);
  }
  --call.leaders;
  if (call.is_over()) call.caller.changed.notify_one();
}

void Scheduler::enlist(Team& team) {
  if (team.threads() > 1) teams_.push_back(&team);
  ++leading_[team.small_];
  if (team.threads() > 1) share_out();
}

// Hands out free processors; share_out.cc decides if several want them.
void Scheduler::share_out() {
  const bool is_contended = calls_.size() > 1 || teams_.size() > 1 || !small_leaders_.empty() ||
                            !large_leaders_.empty() ||
                            (!calls_.empty() && calls_.front()->wants_leader());
  if (is_contended) return share_out_among_many();
  while (free_ > 0 && !teams_.empty() && recruit(*teams_.front())) --free_;
  for (std::atomic<int>* wanted : {&small_leaders_waiting_, &small_wanted_, &leaders_wanted_}) {
    wanted->store(0, std::memory_order_relaxed);
  }
}

// Returns whether an idle thread could join the team.
bool Scheduler::recruit(Team& team) {
  if (idle_.empty() || team.vacancies() == 0) return false;
  Thread& thread = take_idle();
  thread.members = team.members_;
  thread.small = team.small_;
  std::vector<bool>& taken = thread.members->taken;
  thread.worker = 1;
  while (taken[thread.worker]) ++thread.worker;
  taken[thread.worker] = true;
  thread.members->present.fetch_add(1, std::memory_order_release);
  thread.wake();
  return true;
}

void Scheduler::dismiss(Team& team) {
  --leading_[team.small_];
  if (team.threads() == 1) return;
  remove_from(teams_, &team);
  Team::Members& members = *team.members_;
  members.over = true;
  members.generation.fetch_add(1, std::memory_order_release);
  members.generation.notify_all();
}

// Waits for a processor; the caller of a call may wait until the call is over instead.
void Scheduler::take_processor(std::unique_lock<std::mutex>& lock, Waiter& self, bool small) {
  if (free_ > 0) {  // so nobody is waiting
    --free_;
    self.has_processor = true;
    return;
  }
  (small ? small_leaders_ : large_leaders_).push_back(&self);
  share_out();
  self.wait(lock);
}

}  // namespace bert::engine
