// SPDX-License-Identifier: Apache-2.0
//
// The queue behind bert::Queue: which requests are computed together and when, whatever they ask.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/bert_queue.h"

namespace bert::models {

class Request;
using QueueClock = std::chrono::steady_clock;
using WaitingRequests = std::list<std::shared_ptr<Request>>;
using Deadlines = std::multimap<QueueClock::time_point, Request*>;

// Inputs that are answered together, although they may be computed in several parts.
class Request : public std::enable_shared_from_this<Request> {
 public:
  struct Part {
    std::shared_ptr<Request> request;
    size_t begin, end;  // inputs

    size_t inputs() const { return end - begin; }
  };

  // task: with its options. Only requests with the same one may be computed together.
  Request(std::string task, RequestOptions options)
      : task_(std::move(task)), options_(std::move(options)) {}
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

 protected:
  friend class RequestQueue;
  // Computes parts of requests with this one's task, as one batch, and keeps the results. Returns
  // the error of each part, or null. Several threads may call it for different parts.
  virtual std::vector<std::exception_ptr> compute(std::span<const Part> parts) = 0;
  // Gives the caller the results, or the error. Called once.
  virtual void answer(std::exception_ptr error) = 0;

  std::vector<int64_t> tokens_;  // of each input

 private:
  size_t inputs() const { return tokens_.size(); }
  int64_t tokens(size_t begin, size_t end) const;
  int64_t all_tokens() const { return tokens(0, inputs()); }
  // Where the next part ends: it has at most `most_tokens` tokens, but at least one input.
  size_t end_of_part(int64_t most_tokens) const;
  std::exception_ptr ending(Unanswered::Reason reason) const;
  bool has_news() const { return !ended_ && reported_ < static_cast<int64_t>(done_); }
  bool is_late() const { return options_.deadline && *options_.deadline <= QueueClock::now(); }
  void report(int64_t done) const;
  void give_answer();

  const std::string task_;
  RequestOptions options_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  // With the queue's mutex held:
  size_t taken_ = 0, done_ = 0;  // inputs whose computation has begun, and has ended
  int computing_ = 0;            // parts
  int64_t reported_ = -1;        // inputs that the caller knows to be done
  bool complete_ = false;        // all inputs are done
  bool ended_ = false;           // by an error
  std::exception_ptr error_;
  bool settling_ = true;  // a thread runs its callbacks; at first the submitting one
  bool over_ = false;     // the answer is given
  WaitingRequests* lane_ = nullptr;
  WaitingRequests::iterator place_;  // in the lane
  std::optional<Deadlines::iterator> alarm_;
};

// Threads that compute what waits, and one that looks after deadlines and requests that end early.
// Requests compute, and callers are told, without the mutex.
class RequestQueue {
 public:
  struct Limits {
    QueueOptions waiting;
    int64_t small_tokens, batch_tokens;  // of a batch of small requests, and of all others at once
    int workers;                         // batches that the model computes at a time
  };
  // Throws Error if the threads cannot be started.
  explicit RequestQueue(const Limits& limits);
  ~RequestQueue();  // not in a forked child, which has no threads to end
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  bool in_child() const;
  // wrong: why the request cannot be computed, or null.
  void submit(const std::shared_ptr<Request>& request, std::exception_ptr wrong);
  QueueStatistics statistics() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Part = Request::Part;
  // Requests that are computed in batches of their own.
  struct Lane {
    int64_t most_tokens;  // of a batch
    WaitingRequests waiting = {};
    int busy = 0;  // threads
    std::condition_variable changed = {};
  };

  void stop();
  void serve(Lane& lane);
  void watch();
  void compute(Lock& lock, std::vector<Part> parts);
  void settle(Lock& lock, std::vector<Request*> requests);
  void give_answers(const std::vector<Request*>& requests) const;
  void compute_in_child(const std::shared_ptr<Request>& request, std::exception_ptr wrong) const;
  // With mutex_ held:
  std::exception_ptr refusal(const Request& request) const;
  void enqueue(const std::shared_ptr<Request>& request);
  std::vector<Part> take(Lane& lane);
  void begin(const Part& part);
  void finish(const Part& part, const std::exception_ptr& error);
  void end(Request& request, std::exception_ptr error);
  void leave(Request& request);
  void drop_alarm(Request& request);
  void tell(Request& request);

  const Limits limits_;
  mutable std::mutex mutex_;
  Lane small_, large_;
  Deadlines deadlines_;
  std::deque<std::shared_ptr<Request>> ended_;  // whose callers are to be told
  std::condition_variable watch_changed_;
  QueueClock::time_point watch_wakes_ = QueueClock::time_point::max();  // at the latest
  bool closed_ = false, computed_ = false;  // none waits, and none is computed, any more
  QueueStatistics statistics_;
  const int process_;  // in which the threads run
  std::vector<std::thread> computing_;
  std::thread watching_;
};

}  // namespace bert::models
