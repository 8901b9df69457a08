// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/team.h"

#include <cassert>
#include <utility>

#include "engine/threads/scheduler.h"
#include "engine/threads/wait.h"

namespace bert::engine {

Team::Team(Scheduler& scheduler, int threads, bool small)
    : scheduler_(scheduler),
      small_(small),
      has_processor_(false),
      members_(std::make_shared<Members>(threads)) {}

void Team::run(int64_t count, const Body& body) {
  Members& m = *members_;
  const auto make_way = [&] {
    if (!small_ && scheduler_.is_wanted_by_small()) scheduler_.make_way(*this);
    return false;
  };
  if (count <= 1 || m.present.load(std::memory_order_acquire) == 0) {
    for (int64_t i = 0; i < count; ++i) {
      make_way();
      body(i, 0);
    }
    return;
  }
  assert(count <= UINT32_MAX);
  m.body = &body;
  const auto begin = [&](int i) { return static_cast<uint64_t>(m.first_of(i, count)); };
  for (int i = 0; i < m.threads; ++i) {
    m.shares[i].left = begin(i) << 32 | begin(i + 1);
    m.shares[i].owned.store(i == 0, std::memory_order_relaxed);
  }
  m.state.store(Members::kOpen, std::memory_order_release);
  m.generation.fetch_add(1, std::memory_order_release);
  m.generation.notify_all();
  m.work(0, make_way);
  for (uint32_t inside = m.state.fetch_and(~Members::kOpen) & ~Members::kOpen; inside > 0;
       inside = m.state.load(std::memory_order_acquire)) {
    wait_while(m.state, inside);
  }
  if (m.error) std::rethrow_exception(std::exchange(m.error, nullptr));
}

// Works on the team's jobs until the team is over, or leaves() returns true between two pieces.
void Team::Members::help(int worker, const std::function<bool()>& leaves) {
  for (uint32_t seen = generation.load(std::memory_order_acquire);;) {
    for (uint32_t now = state.load(); now & kOpen;) {
      if (!state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) continue;
      shares[worker].owned.store(true, std::memory_order_relaxed);
      work(worker, leaves);
      shares[worker].owned.store(false, std::memory_order_relaxed);
      if (state.fetch_sub(1, std::memory_order_acq_rel) == 1) state.notify_all();
      break;
    }
    if (over || leaves()) return;
    wait_while(generation, seen);
    seen = generation.load(std::memory_order_acquire);
    if (over || leaves()) return;
  }
}

int64_t Team::Members::take_from(int other, bool from_end) {
  std::atomic<uint64_t>& left = shares[other].left;
  for (uint64_t current = left;;) {
    const uint64_t begin = current >> 32, end = current & UINT32_MAX;
    if (begin >= end) return -1;
    const uint64_t rest = from_end ? begin << 32 | (end - 1) : (begin + 1) << 32 | end;
    if (left.compare_exchange_weak(current, rest)) {
      return static_cast<int64_t>(from_end ? end - 1 : begin);
    }
  }
}

// The next i for the worker; -1 if nothing is left.
int64_t Team::Members::take(int worker) {
  int64_t i = take_from(worker, false);
  for (int other = 1; i < 0 && other < threads; ++other) {
    const int whose = (worker + other) % threads;
    i = take_from(whose, shares[whose].owned.load(std::memory_order_relaxed));
  }
  return i;
}

void Team::Members::work(int worker, const std::function<bool()>& leaves) {
  try {
    for (int64_t i = take(worker); i >= 0; i = take(worker)) {
      (*body)(i, worker);
      if (leaves()) return;
    }
  } catch (...) {
    for (Share& share : shares) share.left = 0;
    const std::lock_guard lock(error_mutex);
    if (!error) error = std::current_exception();
  }
}

}  // namespace bert::engine
