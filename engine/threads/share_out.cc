// SPDX-License-Identifier: Apache-2.0
//
// Which of a Scheduler's callers and teams gets the next free processor.
#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>

#include "engine/threads/scheduler_impl.h"

namespace bert::engine {
namespace {

// While small calls keep large ones waiting, large ones get a turn after three times as long.
constexpr Clock::duration kTurn = std::chrono::milliseconds(5), kBetweenTurns = 3 * kTurn;

}  // namespace

// A batch's share of the threads, among the batches being computed or about to begin. Small calls
// do not count large ones, which make way for them.
int Scheduler::planned_threads(const Call& call) const {
  const bool small = call.work.small;
  const auto more =
      std::min<int64_t>(call.work.at_once - call.leaders, call.work.batches - call.next);
  auto leaders =
      static_cast<int64_t>(small_leaders_.size()) + leading_[true] + 1 + std::max<int64_t>(0, more);
  if (!small) leaders += static_cast<int64_t>(large_leaders_.size()) + leading_[false];
  leaders = std::max<int64_t>(leaders, 1 + call.work.others);
  return static_cast<int>(std::max<int64_t>(1, threads() / leaders));
}

// Gives free processors to those waiting, in the order that the class describes.
void Scheduler::share_out_among_many() {
  while (free_ > 0 && (give_turn() || give_to_call(true) || give_to_leader(small_leaders_) ||
                       give_to_team(true) || give_to_leader(large_leaders_) ||
                       give_to_call(false) || give_to_team(false))) {
    --free_;
  }
  const auto small_leaders = static_cast<int>(small_leaders_.size());
  int small_wanted = 0, leaders_wanted = 0;
  if (free_ == 0) {
    const auto idle = static_cast<int>(idle_.size());
    int small_helpers = 0, calls = 0;
    for (const Team* team : teams_) small_helpers += team->small_ ? team->vacancies() : 0;
    for (const Call* call : calls_) {
      calls += call->wants_leader() ? 1 : 0;
      small_helpers += call->work.small && call->wants_leader() ? 1 : 0;
    }
    small_wanted = small_leaders + std::min(idle, small_helpers);
    leaders_wanted = small_wanted + static_cast<int>(large_leaders_.size()) + std::min(idle, calls);
  }
  small_leaders_waiting_.store(small_leaders, std::memory_order_relaxed);
  small_wanted_.store(small_wanted, std::memory_order_relaxed);
  leaders_wanted_.store(leaders_wanted, std::memory_order_relaxed);
}

// Lets a large call go before small ones, if it is due a turn.
bool Scheduler::give_turn() {
  if (small_leaders_.empty() || large_leaders_.empty() || small_served_ < kBetweenTurns) {
    return false;
  }
  large_leaders_.front()->stays_until = Clock::now() + kTurn;
  return give_to_leader(large_leaders_);
}

bool Scheduler::give_to_leader(std::deque<Waiter*>& waiting) {
  if (waiting.empty()) return false;
  if (&waiting == &large_leaders_) small_served_ = {};
  Waiter& waiter = *waiting.front();
  waiting.pop_front();
  waiter.has_processor = true;
  waiter.changed.notify_one();
  return true;
}

// Calls take turns. The scheduler's threads lead them, rather than the waiting callers, as waking
// those one after the other would take longer.
bool Scheduler::give_to_call(bool small) {
  if (idle_.empty()) return false;
  for (Call* call : calls_) {
    if (call->work.small != small || !call->wants_leader()) continue;
    Thread& thread = take_idle();
    thread.call = call;
    thread.batch = call->begin_batch();
    thread.wake();
    remove_from(calls_, call);
    calls_.push_back(call);
    if (!call->has_batches()) remove_from(small ? small_leaders_ : large_leaders_, &call->caller);
    return true;
  }
  return false;
}

bool Scheduler::give_to_team(bool small) {
  const auto joined = [&](Team* team) { return team->small_ == small && recruit(*team); };
  return std::ranges::any_of(teams_, joined);
}

void Scheduler::give_back_processor(Waiter& self) {
  self.has_processor = false;
  ++free_;
  share_out();
}

bool Scheduler::others_wait(bool small) const {
  return !small_leaders_.empty() || (!small && !large_leaders_.empty());
}

// A team for work outside calls.
Team::Team(Scheduler& scheduler)
    : scheduler_(scheduler),
      small_(scheduler.in_child()),  // small, so that its leader never makes way
      has_processor_(!scheduler.in_child()),
      members_(std::make_shared<Members>(scheduler.threads())) {
  if (has_processor_) scheduler_.enter(*this);
}

Team::~Team() {
  if (has_processor_) scheduler_.leave(*this);
}

void Scheduler::enter(Team& team) {
  std::unique_lock lock(mutex_);
  Waiter self;
  take_processor(lock, self, false);
  try {
    enlist(team);
  } catch (...) {
    give_back_processor(self);
    throw;
  }
}

void Scheduler::leave(Team& team) {
  const std::lock_guard lock(mutex_);
  dismiss(team);
  ++free_;
  share_out();
}

// Makes the leader of a large call's batch wait while small calls want its processor.
void Scheduler::make_way(Team& team) {
  if (Clock::now() < team.stays_until_) return;
  std::unique_lock lock(mutex_);
  if (!is_wanted_by_small()) return;
  Waiter self;
  large_leaders_.push_front(&self);
  ++free_;
  share_out();
  self.wait(lock);
  team.stays_until_ = self.stays_until;
}

}  // namespace bert::engine
