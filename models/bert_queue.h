// SPDX-License-Identifier: Apache-2.0
//
// Requests to a model that do not wait for their answers, gathered into batches: for servers and
// for programs with many threads. It includes bert_infer.h.
//
//   bert::Queue queue(model);
//   std::future<bert::Output> logits = queue.run(std::vector<bert::Input>{{"A man plays."}});
//   queue.embed(inputs, {.deadline = std::chrono::steady_clock::now() + 50ms},
//               [](std::future<bert::Output> answer) { use(answer.get()); });
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "bert_infer.h"

namespace bert {

// Why a request ended without an answer. A wrong input is no such reason: its request ends with the
// Error that the Model throws.
class BERT_INFER_API Unanswered : public Error {
 public:
  enum class Reason {  // why there is no answer
    cancelled,         // by its stop_token
    deadline,          // has passed
    closed,            // the queue was destroyed before the whole request had begun to be computed
    full,              // the queue's limits were reached
  };
  Unanswered(Reason reason, const std::string& what);
  Unanswered(const Unanswered&) = default;
  ~Unanswered() override;
  Reason reason() const { return reason_; }  // why

 private:
  Reason reason_;
};

using Inputs = std::variant<std::vector<Input>, std::vector<Encoding>>;  // of one request

struct RequestOptions {  // how a request may end early, and tell how far it is
  // Ends the request as soon as stop is requested, or the deadline passes: inputs that still wait
  // are taken out of the queue, and the results of the others are dropped. One std::stop_source may
  // cancel any number of requests.
  std::stop_token stop = {};
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  // Called with 0 when the first of the inputs begin to be computed, and after each batch with the
  // number of inputs that are done; never twice at a time, and never after the answer.
  std::function<void(int64_t done, int64_t inputs)> progress = {};
  // Is treated as a large request, however small: small ones go first and interrupt it. For work
  // nobody waits for, or for heavy users who share the queue with light ones.
  bool background = false;
};

// Takes a request's answer, in a future that is ready: get() returns it or throws an Error.
template <typename Result>
using OnAnswer = std::function<void(std::future<Result> answer)>;

struct QueueOptions {  // its limits
  // The most requests and tokens that may wait: one beyond is refused. 0: no limit. A request with
  // more tokens than the limit is accepted if none wait.
  int64_t max_requests = 0, max_tokens = 0;
  // Called after answers have been given, in the thread that gave them: once for all of a batch, so
  // that `done` can collect answers to be delivered together.
  std::function<void()> answered = {};
};

struct QueueStatistics {  // what a queue has done and has to do
  // What waits now, and what is being computed. A request of which one part is being computed and
  // another waits is counted in both.
  int64_t waiting_requests = 0, waiting_tokens = 0;
  int64_t computing_requests = 0, computing_tokens = 0;
  // Since the queue was made: batches that were begun, the inputs and tokens in them, and requests
  // that ended with an answer, and with an error.
  int64_t batches = 0, batch_inputs = 0, batch_tokens = 0;
  int64_t answered = 0, failed = 0;
};

// Requests of any number of threads. Whatever waits when processors become free forms the next
// batches, of at most Options::batch_tokens tokens together, first come first served; nothing ever
// waits for a batch to fill up. A larger request is computed in parts, and lets others go before
// its next one. Requests of up to 512 tokens in all, unless they are in the background, form
// batches of their own, which go before the others even in the middle of these. Requests share a
// batch if they ask for the same with the same options. Answers are the same bits as the Model's.
//
// The calling thread tokenises the inputs. Requests never throw: whatever is wrong is in the
// answer. Without `done` they return a future; with it, they return at once and call it once, in a
// thread of the queue. It and `progress` should be quick, may make further requests, but must
// neither wait for an answer nor destroy the queue; what they throw is ignored.
//
// Any number of threads may use a queue at once. It holds a copy of the model, so that the weights
// live as long as it does. Destroying it ends requests that wait with Unanswered::Reason::closed,
// and returns when those that were being computed have been answered and no callback runs any more.
// In a forked child, requests are computed before the function returns, by the thread that calls
// it, which also calls `done`; requests that were pending at the fork are answered in the parent
// only.
class BERT_INFER_API Queue {
 public:
  explicit Queue(const Model& model, const QueueOptions& options = {});
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // As the Model's functions of the same names.
  std::future<Output> run(Inputs inputs, RequestOptions options = {});
  void run(Inputs inputs, RequestOptions options, OnAnswer<Output> done);
  std::future<std::vector<Output>> run_tokens(Inputs inputs, RequestOptions options = {});
  void run_tokens(Inputs inputs, RequestOptions options, OnAnswer<std::vector<Output>> done);
  std::future<Output> embed(Inputs inputs, RequestOptions options = {});
  void embed(Inputs inputs, RequestOptions options, OnAnswer<Output> done);
  std::future<std::vector<SparseVector>> sparse(Inputs inputs, RequestOptions options = {});
  void sparse(Inputs inputs, RequestOptions options, OnAnswer<std::vector<SparseVector>> done);
  std::future<std::vector<Output>> multi_vector(Inputs inputs, Role role,
                                                RequestOptions options = {});
  void multi_vector(Inputs inputs, Role role, RequestOptions options,
                    OnAnswer<std::vector<Output>> done);
  std::future<std::vector<Hidden>> hidden(Inputs inputs, const std::vector<int>& layers = {},
                                          RequestOptions options = {});
  void hidden(Inputs inputs, const std::vector<int>& layers, RequestOptions options,
              OnAnswer<std::vector<Hidden>> done);
  std::future<std::vector<std::vector<Blank>>> fill_mask(Inputs inputs, int k = 5,
                                                         RequestOptions options = {});
  void fill_mask(Inputs inputs, int k, RequestOptions options,
                 OnAnswer<std::vector<std::vector<Blank>>> done);
  std::future<std::vector<Tags>> tag(std::vector<Input> inputs, const TagOptions& tag_options = {},
                                     RequestOptions options = {});
  void tag(std::vector<Input> inputs, const TagOptions& tag_options, RequestOptions options,
           OnAnswer<std::vector<Tags>> done);
  std::future<std::vector<Answer>> answer(std::vector<Input> inputs,
                                          const AnswerOptions& answer_options = {},
                                          RequestOptions options = {});
  void answer(std::vector<Input> inputs, const AnswerOptions& answer_options,
              RequestOptions options, OnAnswer<std::vector<Answer>> done);
  std::future<std::vector<Choice>> choose(std::vector<Choices> inputs, RequestOptions options = {});
  void choose(std::vector<Choices> inputs, RequestOptions options,
              OnAnswer<std::vector<Choice>> done);

  const Model& model() const;          // the queue's
  QueueStatistics statistics() const;  // now

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bert
