// SPDX-License-Identifier: Apache-2.0
//
// A RequestQueue's threads, and what they tell callers.
#include "models/calls/request_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "engine/runtime.h"
#include "engine/threads/scheduler.h"
#include "models/calls/workers.h"

namespace bert::models {

RequestQueue::RequestQueue(const Limits& limits)
    : limits_(limits),
      small_{limits.small_tokens},
      large_{limits.batch_tokens},
      process_(getpid()) {
  try {
    for (Lane* lane : {&small_, &large_}) {  // as many threads as keep the processors busy
      const int64_t wanted = limits.threads * kTokensOfProcessor / lane->most_tokens;
      for (int64_t i = std::clamp<int64_t>(wanted, 1, limits.threads); i > 0; --i) {
        computing_.push_back(engine::quiet_thread([this, lane] { serve(*lane); }));
      }
    }
    watching_ = engine::quiet_thread([this] { watch(); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(fmt::format("cannot start the threads of a queue: {}", error.what()));
  }
}

RequestQueue::~RequestQueue() { stop(); }

void RequestQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Lane* lane : {&small_, &large_}) {
      while (!lane->waiting.empty()) {
        Request& request = *lane->waiting.front();
        end(request, request.ending(Unanswered::Reason::closed));
      }
      lane->changed.notify_all();
    }
  }
  for (std::thread& thread : computing_) thread.join();
  {
    const std::lock_guard lock(mutex_);
    computed_ = true;
    watch_changed_.notify_one();
  }
  if (watching_.joinable()) watching_.join();
}

bool RequestQueue::in_child() const { return getpid() != process_; }

QueueStatistics RequestQueue::statistics() const {
  if (in_child()) return {};
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void RequestQueue::serve(Lane& lane) {
  Workers::yields = &lane == &large_;
  Lock lock(mutex_);
  for (;;) {
    lane.changed.wait(lock, [&] { return closed_ || !lane.waiting.empty(); });
    if (lane.waiting.empty()) return;
    compute(lock, take(lane));
  }
}

void RequestQueue::compute(Lock& lock, std::vector<Part> parts) {
  for (const Part& part : parts) settle(lock, *part.request);
  lock.unlock();
  const std::vector<std::exception_ptr> errors = parts[0].request->compute(parts);
  lock.lock();
  for (size_t i = 0; i < parts.size(); ++i) finish(parts[i], errors[i]);
  for (const Part& part : parts) settle(lock, *part.request);
  lock.unlock();
  parts.clear();
  lock.lock();
}

void RequestQueue::watch() {
  Lock lock(mutex_);
  for (;;) {
    if (!ended_.empty()) {
      std::shared_ptr<Request> request = std::move(ended_.front());
      ended_.pop_front();
      settle(lock, *request);
      lock.unlock();
      request.reset();
      lock.lock();
    } else if (computed_) {
      return;
    } else if (deadlines_.empty()) {
      watch_changed_.wait(lock);
    } else if (const auto first = deadlines_.begin()->first; first > QueueClock::now()) {
      watch_changed_.wait_until(lock, first);
    } else {
      Request& request = *deadlines_.begin()->second;
      end(request, request.ending(Unanswered::Reason::deadline));
    }
  }
}

// Tells the caller how far the request is, and at last the answer. One thread does so at a time; it
// also tells what has come up meanwhile.
void RequestQueue::settle(Lock& lock, Request& request) {
  if (request.settling_ || request.over_) return;
  request.settling_ = true;
  while (!request.ended_ && request.reported_ < static_cast<int64_t>(request.done_)) {
    const size_t done = request.done_;
    request.reported_ = static_cast<int64_t>(done);
    if (!request.options_.progress) continue;
    lock.unlock();
    request.report(done);
    lock.lock();
  }
  request.settling_ = false;
  if (!request.ended_ && !request.complete_) return;
  request.over_ = true;
  ++(request.ended_ ? statistics_.failed : statistics_.answered);
  lock.unlock();
  request.give_answer();
  lock.lock();
}

void Request::report(size_t done) const {
  if (!options_.progress) return;
  try {
    options_.progress(static_cast<int64_t>(done), static_cast<int64_t>(inputs()));
  } catch (...) {
    engine::log().warn("the progress callback of a request has thrown an exception");
  }
}

// Afterwards nothing is left of what the caller gave.
void Request::give_answer() {
  on_stop_.reset();
  options_ = {};
  try {
    answer(std::move(error_));
  } catch (...) {
    engine::log().warn("the callback that takes the answer of a request has thrown an exception");
  }
}

// On the calling thread, as a forked child has no others.
void RequestQueue::compute_in_child(const std::shared_ptr<Request>& request,
                                    std::exception_ptr wrong) const {
  Request& self = *request;
  self.error_ = std::move(wrong);
  while (!self.error_ && !self.complete_) {
    self.report(self.done_);
    if (self.options_.stop.stop_requested()) {
      self.error_ = self.ending(Unanswered::Reason::cancelled);
    } else if (self.is_late()) {
      self.error_ = self.ending(Unanswered::Reason::deadline);
    } else {
      const Part part = {request, self.taken_, self.end_of_part(limits_.batch_tokens)};
      self.error_ = self.compute({&part, 1})[0];
      self.taken_ = self.done_ = part.end;
      self.complete_ = self.done_ == self.inputs();
    }
  }
  if (!self.error_) self.report(self.done_);
  self.give_answer();
}

}  // namespace bert::models
