// SPDX-License-Identifier: Apache-2.0
//
// How requests come into a RequestQueue, are taken out of it for a batch, and end.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "models/calls/request_queue.h"
#include "models/calls/workers.h"

namespace bert::models {
namespace {

using Reason = Unanswered::Reason;

const char* describe(Reason reason) {
  switch (reason) {
    case Reason::cancelled:
      return "the request was cancelled";
    case Reason::deadline:
      return "the deadline of the request passed";
    default:
      return "the queue was destroyed";
  }
}

std::exception_ptr is_full(const std::string& what) {
  return std::make_exception_ptr(Unanswered(Reason::full, "the queue is full: " + what));
}

}  // namespace

int64_t Request::tokens(size_t begin, size_t end) const {
  return std::accumulate(tokens_.data() + begin, tokens_.data() + end, int64_t{0});
}

size_t Request::end_of_part(int64_t most_tokens) const {
  size_t end = taken_;
  for (int64_t tokens = 0; end < inputs(); ++end) {
    tokens += tokens_[end];
    if (tokens > most_tokens && end > taken_) break;
  }
  return end;
}

std::exception_ptr Request::ending(Reason reason) const {
  return std::make_exception_ptr(Unanswered(
      reason,
      fmt::format("{} when {} of {} inputs were computed", describe(reason), done_, inputs())));
}

void RequestQueue::submit(const std::shared_ptr<Request>& request, std::exception_ptr wrong) {
  if (in_child()) return compute_in_child(request, std::move(wrong));
  // Before it waits, since its answer may then come at any time and take this away.
  if (request->options_.stop.stop_possible()) {
    request->on_stop_.emplace(request->options_.stop, [this, stopped = request.get()] {
      const std::lock_guard lock(mutex_);
      end(*stopped, stopped->ending(Reason::cancelled));
    });
  }
  const std::lock_guard lock(mutex_);
  request->settling_ = false;
  if (request->ended_) return tell(*request);  // stop had been requested
  if (!wrong && request->is_late()) wrong = request->ending(Reason::deadline);
  if (!wrong && closed_) wrong = request->ending(Reason::closed);  // from a callback at the end
  if (!wrong) wrong = refusal(*request);
  if (wrong) return end(*request, std::move(wrong));
  enqueue(request);
}

// Null if there is room.
std::exception_ptr RequestQueue::refusal(const Request& request) const {
  const int64_t most_requests = limits_.waiting.max_requests;
  const int64_t most_tokens = limits_.waiting.max_tokens;
  const int64_t requests = statistics_.waiting_requests, tokens = statistics_.waiting_tokens;
  if (most_requests > 0 && requests >= most_requests) {
    return is_full(fmt::format("{} requests wait, expected at most {}", requests, most_requests));
  }
  const int64_t more = request.all_tokens();
  if (most_tokens > 0 && tokens > 0 && tokens + more > most_tokens) {
    return is_full(fmt::format("requests of {} tokens wait, with {} more expected at most {}",
                               tokens, more, most_tokens));
  }
  return nullptr;
}

void RequestQueue::enqueue(const std::shared_ptr<Request>& request) {
  const int64_t tokens = request->all_tokens();
  Lane& lane = tokens <= kSmallCall && !request->options_.background ? small_ : large_;
  request->lane_ = &lane.waiting;
  request->place_ = lane.waiting.insert(lane.waiting.end(), request);
  lane.changed.notify_one();
  ++statistics_.waiting_requests;
  statistics_.waiting_tokens += tokens;
  if (!request->options_.deadline) return;
  request->alarm_ = deadlines_.emplace(*request->options_.deadline, request.get());
  if (*request->options_.deadline < watch_wakes_) watch_changed_.notify_one();
}

// Those at the front, as far as they ask for the same and there is room. Where several threads
// compute, each takes half of its share of all that is under way: callers that ask again when they
// have their answers would else leave one without work while the others compute. The other half
// waits for whoever is done first.
std::vector<RequestQueue::Part> RequestQueue::take(Lane& lane) {
  constexpr int64_t kLeastShare = 64;  // tokens: of fewer, all threads compute one batch sooner
  std::vector<Part> parts;
  int64_t room = lane.most_tokens;
  if (limits_.workers > 1) {
    const int64_t under_way = statistics_.waiting_tokens + statistics_.computing_tokens;
    room = std::min(room, std::max(under_way / (2 * limits_.workers), kLeastShare));
  }
  for (auto next = lane.waiting.begin(); next != lane.waiting.end();) {
    const std::shared_ptr<Request> request = *next++;
    if (!parts.empty() && request->task_ != parts[0].request->task_) continue;
    const Part part = {request, request->taken_, request->end_of_part(room)};
    room -= request->tokens(part.begin, part.end);
    if (room < 0 && !parts.empty()) break;
    begin(part);
    parts.push_back(part);
    if (part.end == request->inputs()) continue;
    if (parts.size() == 1) {  // it had its turn
      lane.waiting.splice(lane.waiting.end(), lane.waiting, request->place_);
    }
    break;
  }
  ++statistics_.batches;
  if (!lane.waiting.empty()) lane.changed.notify_one();  // another thread may take the rest
  return parts;
}

void RequestQueue::begin(const Part& part) {
  Request& request = *part.request;
  request.taken_ = part.end;
  const int64_t tokens = request.tokens(part.begin, part.end);
  statistics_.waiting_tokens -= tokens;
  statistics_.computing_tokens += tokens;
  statistics_.computing_requests += request.computing_++ == 0 ? 1 : 0;
  statistics_.batch_inputs += static_cast<int64_t>(part.inputs());
  statistics_.batch_tokens += tokens;
  if (part.end == request.inputs()) leave(request);
}

void RequestQueue::finish(const Part& part, const std::exception_ptr& error) {
  Request& request = *part.request;
  statistics_.computing_tokens -= request.tokens(part.begin, part.end);
  statistics_.computing_requests -= --request.computing_ == 0 ? 1 : 0;
  if (request.ended_) return;
  if (error) return end(request, error);
  request.done_ += part.inputs();
  request.complete_ = request.done_ == request.inputs();
  if (request.complete_) drop_alarm(request);
}

// Ends a request early, with an error.
void RequestQueue::end(Request& request, std::exception_ptr error) {
  if (request.ended_ || request.complete_) return;
  request.ended_ = true;
  request.error_ = std::move(error);
  tell(request);  // first, as only the lane may hold it
  leave(request);
  drop_alarm(request);
}

void RequestQueue::leave(Request& request) {
  if (!request.lane_) return;
  --statistics_.waiting_requests;
  statistics_.waiting_tokens -= request.tokens(request.taken_, request.inputs());
  std::exchange(request.lane_, nullptr)->erase(request.place_);
}

void RequestQueue::drop_alarm(Request& request) {
  if (request.alarm_) deadlines_.erase(*std::exchange(request.alarm_, std::nullopt));
}

void RequestQueue::tell(Request& request) {
  ended_.push_back(request.shared_from_this());
  watch_changed_.notify_one();
}

}  // namespace bert::models
