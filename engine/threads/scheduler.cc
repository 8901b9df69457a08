// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/scheduler.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <utility>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "engine/threads/wait.h"

namespace bert::engine {
namespace {

using Clock = std::chrono::steady_clock;

// While small calls keep large ones waiting, these get a turn after three times its length.
constexpr Clock::duration kTurn = std::chrono::milliseconds(5), kBetweenTurns = 3 * kTurn;

template <typename List>
void remove(List& list, const typename List::value_type& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) list.erase(found);
}

}  // namespace

// A thread that waits for a processor, or, with a call, until other threads have computed it.
struct Scheduler::Waiter {
  const Call* call = nullptr;
  bool has_seat = false;
  Clock::time_point stays_until = {};  // as Team's
  std::condition_variable changed = {};

  void wait(std::unique_lock<std::mutex>& lock);
};

struct Scheduler::Call {
  Work work;
  const LeadBatch& lead;
  int64_t next = 0;  // batch
  int leaders = 0;
  std::exception_ptr error = nullptr;
  Waiter caller = {};

  bool has_batches() const { return next < work.batches; }
  bool wants_leader() const { return has_batches() && leaders < work.at_once; }
  bool is_over() const { return !has_batches() && leaders == 0; }
  int64_t begin_batch() {
    ++leaders;
    return next++;
  }
};

void Scheduler::Waiter::wait(std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [this] { return has_seat || (call && call->is_over()); });
}

struct Scheduler::Thread {
  std::atomic<uint32_t> wakes{0};
  // What it is to do: lead this batch of a call, or help a team.
  Call* call = nullptr;
  int64_t batch = 0;
  std::shared_ptr<Team::Members> members = nullptr;
  int worker = 0;
  bool small = false;
  std::thread thread = {};

  void wake() {
    wakes.fetch_add(1, std::memory_order_release);
    wakes.notify_one();
  }
};

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

bool Scheduler::in_child() const { return getpid() != process_; }

void Scheduler::stop() {
  // A forked child has none of the threads, and both joining and destroying them would crash: leak.
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

void Scheduler::run(const Work& work, const LeadBatch& lead) {
  if (work.batches == 0) return;
  if (in_child()) {
    for (int64_t i = 0; i < work.batches; ++i) {
      Team alone(*this, 1, true);
      lead(i, alone);
    }
    return;
  }
  std::unique_lock lock(mutex_);
  Call call{work, lead};
  call.caller.call = &call;
  calls_.push_back(&call);
  take_seat(lock, call.caller, work.small);
  while (call.caller.has_seat && call.has_batches()) {
    const int64_t i = call.begin_batch();
    share_out();  // the next batch may be led by another thread
    lead_batch(lock, call, i);
    if (!call.has_batches() || !others_wait(work.small)) continue;
    give_back_seat(call.caller);
    take_seat(lock, call.caller, work.small);
  }
  remove(calls_, &call);
  if (call.caller.has_seat) give_back_seat(call.caller);
  call.caller.wait(lock);
  if (call.error) std::rethrow_exception(call.error);
}

void Scheduler::serve(Thread& self) {
  uint32_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;; ++free_) {
    idle_.push_back(&self);
    share_out();  // which may be to this thread
    lock.unlock();
    wait_while(self.wakes, seen);
    lock.lock();
    if (stopped_) return;
    ++seen;
    if (Call* call = std::exchange(self.call, nullptr)) {
      lead_batch(lock, *call, self.batch);
    } else {
      help(lock, self);
    }
  }
}

void Scheduler::help(std::unique_lock<std::mutex>& lock, Thread& self) {
  const std::atomic<int>& waiting = self.small ? small_leaders_waiting_ : leaders_wanted_;
  Team::Members& team = *self.members;
  lock.unlock();
  team.help(self.worker, [&] { return waiting.load(std::memory_order_relaxed) > 0; });
  lock.lock();
  team.taken[self.worker] = false;
  team.present.fetch_sub(1, std::memory_order_release);
  self.members = nullptr;
}

// A batch that was begun by begin_batch().
void Scheduler::lead_batch(std::unique_lock<std::mutex>& lock, Call& call, int64_t i) {
  Team team(*this, planned_threads(call), call.work.small);
  team.stays_until_ = std::exchange(call.caller.stays_until, {});
  enlist(team);
  const Clock::time_point begin = Clock::now();
  lock.unlock();
  std::exception_ptr error;
  try {
    call.lead(i, team);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  dismiss(team);
  if (call.work.small && !large_leaders_.empty()) small_served_ += Clock::now() - begin;
  if (error && !call.error) {
    call.error = error;
    call.next = call.work.batches;
    remove(call.work.small ? small_leaders_ : large_leaders_, &call.caller);
  }
  --call.leaders;
  if (call.is_over()) call.caller.changed.notify_one();
}

// As many as there are for each of the batches that are computed now or will be at once. Small
// calls do not count large ones, which make way for them.
int Scheduler::planned_threads(const Call& call) const {
  const bool small = call.work.small;
  const auto more =
      std::min<int64_t>(call.work.at_once - call.leaders, call.work.batches - call.next);
  auto leaders =
      static_cast<int64_t>(small_leaders_.size()) + leading_[true] + 1 + std::max<int64_t>(0, more);
  if (!small) leaders += static_cast<int64_t>(large_leaders_.size()) + leading_[false];
  return static_cast<int>(std::max<int64_t>(1, threads() / leaders));
}

void Scheduler::enlist(Team& team) {
  ++leading_[team.small_];
  if (team.threads() == 1) return;
  teams_.push_back(&team);
  share_out();
}

void Scheduler::dismiss(Team& team) {
  --leading_[team.small_];
  if (team.threads() == 1) return;
  remove(teams_, &team);
  Team::Members& members = *team.members_;
  members.over = true;
  members.generation.fetch_add(1, std::memory_order_release);
  members.generation.notify_all();
}

void Scheduler::enter(Team& team) {
  std::unique_lock lock(mutex_);
  Waiter self;
  take_seat(lock, self, false);
  enlist(team);
}

void Scheduler::leave(Team& team) {
  const std::lock_guard lock(mutex_);
  dismiss(team);
  ++free_;
  share_out();
}

// The leader of a large call's batch waits while small calls want its processor.
void Scheduler::make_way(Team& team) {
  if (Clock::now() < team.stays_until_) return;
  std::unique_lock lock(mutex_);
  if (!is_wanted_by_small()) return;
  ++free_;
  Waiter self;
  large_leaders_.push_front(&self);
  share_out();
  self.wait(lock);
  team.stays_until_ = self.stays_until;
}

// Waits for a processor; the caller of a call may wait until the call is over instead.
void Scheduler::take_seat(std::unique_lock<std::mutex>& lock, Waiter& self, bool small) {
  if (free_ > 0) {  // so nobody waits
    --free_;
    self.has_seat = true;
    return;
  }
  (small ? small_leaders_ : large_leaders_).push_back(&self);
  share_out();
  self.wait(lock);
}

void Scheduler::give_back_seat(Waiter& self) {
  self.has_seat = false;
  ++free_;
  share_out();
}

bool Scheduler::others_wait(bool small) const {
  return !small_leaders_.empty() || (!small && !large_leaders_.empty());
}

// Gives free processors to those who wait, in the order that the class describes.
void Scheduler::share_out() {
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

// To a large call before small ones.
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
  waiter.has_seat = true;
  waiter.changed.notify_one();
  return true;
}

// Calls take turns. That they are led by this class's threads rather than by callers that wait
// saves waking these one after the other.
bool Scheduler::give_to_call(bool small) {
  if (idle_.empty()) return false;
  for (Call* call : calls_) {
    if (call->work.small != small || !call->wants_leader()) continue;
    Thread& thread = take_idle();
    thread.call = call;
    thread.batch = call->begin_batch();
    thread.wake();
    remove(calls_, call);
    calls_.push_back(call);
    if (!call->has_batches()) remove(small ? small_leaders_ : large_leaders_, &call->caller);
    return true;
  }
  return false;
}

bool Scheduler::give_to_team(bool small) {
  if (idle_.empty()) return false;
  for (const Team* team : teams_) {
    if (team->small_ != small || team->vacancies() == 0) continue;
    Thread& thread = take_idle();
    thread.members = team->members_;
    thread.small = small;
    std::vector<bool>& taken = thread.members->taken;
    thread.worker = 1;
    while (taken[thread.worker]) ++thread.worker;
    taken[thread.worker] = true;
    thread.members->present.fetch_add(1, std::memory_order_release);
    thread.wake();
    return true;
  }
  return false;
}

Scheduler::Thread& Scheduler::take_idle() {
  Thread& thread = *idle_.back();
  idle_.pop_back();
  return thread;
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
    std::fesetenv(FE_DFL_ENV);  // not the rounding mode of the thread that loads the model
    body();
  });
}

}  // namespace bert::engine
