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
      large_{std::max<int64_t>(1, limits.batch_tokens / limits.workers)},
      process_(getpid()) {
  try {
    // While one gives the answers of its batch, others compute.
    for (Lane* lane : {&small_, &large_}) {
      for (int i = 0; i < limits.workers; ++i) {
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
    std::vector<Part> parts = take(lane);
    Workers::others = lane.busy++ + (lane.waiting.empty() ? 0 : 1);
    compute(lock, std::move(parts));
    --lane.busy;
  }
}

void RequestQueue::compute(Lock& lock, std::vector<Part> parts) {
  std::vector<Request*> requests;
  for (const Part& part : parts) requests.push_back(part.request.get());
  settle(lock, requests);
  lock.unlock();
  const std::function<bool()> wanted = [&] {
    const std::lock_guard guard(mutex_);
    return std::ranges::any_of(requests, [](const Request* request) { return !request->ended_; });
  };
  Workers::wanted = &wanted;
  const std::vector<std::exception_ptr> errors = parts[0].request->compute(parts);
  Workers::wanted = nullptr;
  lock.lock();
  for (size_t i = 0; i < parts.size(); ++i) finish(parts[i], errors[i]);
  settle(lock, std::move(requests));
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
      settle(lock, {request.get()});
      lock.unlock();
      request.reset();
      lock.lock();
    } else if (computed_) {
      return;
    } else if (deadlines_.empty()) {
      watch_wakes_ = QueueClock::time_point::max();
      watch_changed_.wait(lock);
    } else if (const auto first = deadlines_.begin()->first; first > QueueClock::now()) {
      watch_wakes_ = first;
      watch_changed_.wait_until(lock, first);
    } else {
      Request& request = *deadlines_.begin()->second;
      end(request, request.ending(Unanswered::Reason::deadline));
    }
  }
}

// Tells the callers how far their requests are, and at last the answers. One thread at a time does
// so for a request; it also tells what has come up meanwhile.
void RequestQueue::settle(Lock& lock, std::vector<Request*> requests) {
  std::erase_if(requests, [](const Request* r) { return r->settling_ || r->over_; });
  for (Request* request : requests) request->settling_ = true;
  std::vector<Request*> over;
  for (;;) {
    std::erase_if(requests, [&](Request* request) {
      if (request->has_news()) return false;
      request->settling_ = false;
      request->over_ = request->ended_ || request->complete_;
      if (request->over_) over.push_back(request);
      return true;
    });
    if (requests.empty()) break;
    for (Request* request : requests) request->reported_ = static_cast<int64_t>(request->done_);
    lock.unlock();
    for (const Request* request : requests) request->report(request->reported_);
    lock.lock();
  }
  if (over.empty()) return;
  for (const Request* request : over)
    ++(request->ended_ ? statistics_.failed : statistics_.answered);
  lock.unlock();
  give_answers(over);
  lock.lock();
}

void RequestQueue::give_answers(const std::vector<Request*>& requests) const {
  for (Request* request : requests) request->give_answer();
  if (!limits_.waiting.answered) return;
  try {
    limits_.waiting.answered();
  } catch (...) {
    engine::log().warn("the callback that follows answers has thrown an exception");
  }
}

void Request::report(int64_t done) const {
  if (!options_.progress) return;
  try {
    options_.progress(done, static_cast<int64_t>(inputs()));
  } catch (...) {
    engine::log().warn("the progress callback of a request has thrown an exception");
  }
}

// Gives the answer, and lets go of everything that the caller passed.
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
    self.report(static_cast<int64_t>(self.done_));
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
  if (!self.error_) self.report(static_cast<int64_t>(self.done_));
  give_answers({&self});
}

}  // namespace bert::models
