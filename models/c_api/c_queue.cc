// SPDX-License-Identifier: Apache-2.0
//
// Requests to a queue. The answer of each is kept in its state, which the queue's callback shares.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include "models/bert_queue.h"
#include "models/c_api/bert_queue_c.h"
#include "models/c_api/boundary/c_arguments.h"
#include "models/c_api/boundary/c_views.h"
#include "models/c_api/c_model.h"

namespace c_api = bert::c_api;

struct bert_queue {
  bert::Queue queue;
};

struct bert_request {
  using Answer = std::variant<std::monostate, bert::Output, std::vector<bert::Output>,
                              std::vector<bert::SparseVector>, std::vector<bert::Hidden>,
                              std::vector<std::vector<bert::Blank>>, std::vector<bert::Tags>,
                              std::vector<bert::Answer>>;
  // Lives as long as the queue may call back.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Answer answer;
    std::exception_ptr error;
    bool answered = false;    // the answer or the error is there
    bool over = false;        // and no callback will run any more
    std::thread::id calling;  // the thread that runs the last callback
    int64_t done = 0;
    std::stop_source stop;
    bert_callbacks callbacks{};
    const pid_t process = getpid();  // whose threads call back
  };

  std::string task;
  int64_t inputs = 0;
  std::shared_ptr<State> state = std::make_shared<State>();
};

namespace bert::c_api {
namespace {

using State = bert_request::State;
using Lock = std::unique_lock<std::mutex>;

void tell_progress(State& state, int64_t done, int64_t inputs) {
  {
    const Lock lock(state.mutex);
    state.done = done;
  }
  if (state.callbacks.progress != nullptr) {
    state.callbacks.progress(state.callbacks.context, done, inputs);
  }
}

template <typename Result>
void take_answer(bert_request* request, State& state, std::future<Result> answer) {
  {
    const Lock lock(state.mutex);
    try {
      state.answer = answer.get();
    } catch (...) {
      state.error = std::current_exception();
    }
    state.answered = true;
    state.calling = std::this_thread::get_id();
  }
  state.changed.notify_all();
  try {
    // After that, the request may be gone.
    if (state.callbacks.done != nullptr) state.callbacks.done(state.callbacks.context, request);
  } catch (...) {  // a C++ program's callback may throw
  }
  const Lock lock(state.mutex);
  state.over = true;
  state.changed.notify_all();
}

template <typename Result>
OnAnswer<Result> on_answer(bert_request* request) {
  return [request, state = request->state](std::future<Result> answer) {
    take_answer(request, *state, std::move(answer));
  };
}

RequestOptions request_options(const bert_request& request, int64_t deadline_ms) {
  RequestOptions options;
  options.stop = request.state->stop.get_token();
  if (deadline_ms >= 0) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::milliseconds most(int64_t{1} << 40);  // some decades: no overflow
    options.deadline = now + std::min(most, std::chrono::milliseconds(deadline_ms));
  }
  options.progress = [state = request.state](int64_t done, int64_t inputs) {
    tell_progress(*state, done, inputs);
  };
  return options;
}

struct Submission {
  Queue& queue;
  bert_request* request;  // may be freed before the queue's function returns
  std::vector<Input> inputs;
  const SubmitOptions& given;
  RequestOptions options;
};
using Submit = void (*)(Submission);

// The tasks that requests may be for; read_submit_options() reads the options of each.
constexpr std::pair<std::string_view, Submit> kQueueTasks[] = {
    {"run",
     [](Submission s) {
       s.queue.run(std::move(s.inputs), std::move(s.options), on_answer<Output>(s.request));
     }},
    {"run_tokens",
     [](Submission s) {
       s.queue.run_tokens(std::move(s.inputs), std::move(s.options),
                          on_answer<std::vector<Output>>(s.request));
     }},
    {"embed",
     [](Submission s) {
       s.queue.embed(std::move(s.inputs), std::move(s.options), on_answer<Output>(s.request));
     }},
    {"sparse",
     [](Submission s) {
       s.queue.sparse(std::move(s.inputs), std::move(s.options),
                      on_answer<std::vector<SparseVector>>(s.request));
     }},
    {"hidden",
     [](Submission s) {
       s.queue.hidden(std::move(s.inputs), s.given.layers, std::move(s.options),
                      on_answer<std::vector<Hidden>>(s.request));
     }},
    {"fill_mask",
     [](Submission s) {
       s.queue.fill_mask(std::move(s.inputs), s.given.k, std::move(s.options),
                         on_answer<std::vector<std::vector<Blank>>>(s.request));
     }},
    {"tag",
     [](Submission s) {
       s.queue.tag(std::move(s.inputs), s.given.tag, std::move(s.options),
                   on_answer<std::vector<Tags>>(s.request));
     }},
    {"answer", [](Submission s) {
       s.queue.answer(std::move(s.inputs), s.given.answer, std::move(s.options),
                      on_answer<std::vector<bert::Answer>>(s.request));
     }}};

Submit find_task(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [known, submit] : kQueueTasks) {
    if (known == name) return submit;
    names.push_back(known);
  }
  throw InvalidArgument(
      fmt::format("unknown task '{}', expected one of {}", name, fmt::join(names, ", ")));
}

// The answer, which must be a Result, once it is there.
template <typename Result>
Result wait_for(bert_request* request) {
  State& state = *required(request, "request").state;
  Lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.answered; });
  if (state.error) std::rethrow_exception(state.error);
  if (std::holds_alternative<std::monostate>(state.answer)) {
    throw InvalidArgument("the request's answer has been handed out already");
  }
  if (auto* const answer = std::get_if<Result>(&state.answer)) {
    Result taken = std::move(*answer);
    state.answer = std::monostate();
    return taken;
  }
  throw InvalidArgument(
      fmt::format("the request is for {}, which has answers of another type", request->task));
}

std::map<std::string_view, int64_t> by_name(const QueueStatistics& all) {
  return {{"waiting_requests", all.waiting_requests},
          {"waiting_tokens", all.waiting_tokens},
          {"computing_requests", all.computing_requests},
          {"computing_tokens", all.computing_tokens},
          {"batches", all.batches},
          {"batch_inputs", all.batch_inputs},
          {"batch_tokens", all.batch_tokens},
          {"answered", all.answered},
          {"failed", all.failed}};
}

}  // namespace
}  // namespace bert::c_api

bert_status bert_queue_create(const bert_model* model, const bert_option* options,
                              size_t option_count, bert_queue** queue) {
  if (queue != nullptr) *queue = nullptr;
  return c_api::call([&] {
    c_api::required(queue, "queue");
    const bert::Model& of = c_api::required(model, "model").model;
    const bert::QueueOptions read = c_api::read_queue_options(options, option_count);
    *queue = new bert_queue{bert::Queue(of, read)};
  });
}

void bert_queue_free(bert_queue* queue) { delete queue; }

bert_status bert_queue_statistic(const bert_queue* queue, const char* name, int64_t* number) {
  if (number != nullptr) *number = 0;
  return c_api::call([&] {
    const auto numbers = c_api::by_name(c_api::required(queue, "queue").queue.statistics());
    c_api::required(number, "number") = c_api::find_by_name(numbers, name, "a queue's statistics");
  });
}

bert_status bert_queue_submit(bert_queue* queue, const char* task, const bert_input* inputs,
                              size_t count, const bert_option* options, size_t option_count,
                              const bert_callbacks* callbacks, bert_request** request) {
  if (request != nullptr) *request = nullptr;
  return c_api::call([&] {
    c_api::required(request, "request");
    bert::Queue& to = c_api::required(queue, "queue").queue;
    const char* name = &c_api::required(task, "task");
    const c_api::Submit submit = c_api::find_task(name);
    const auto given = c_api::read_submit_options(name, options, option_count);
    std::vector<bert::Input> texts = c_api::read_inputs(inputs, count);
    auto made = std::make_unique<bert_request>();
    made->task = name;
    made->inputs = std::ssize(texts);
    if (callbacks != nullptr) made->state->callbacks = *callbacks;
    *request = made.get();
    try {
      submit({to, made.get(), std::move(texts), given,
              c_api::request_options(*made, given.deadline_ms)});
    } catch (...) {  // no memory: nothing was submitted
      *request = nullptr;
      throw;
    }
    static_cast<void>(made.release());
  });
}

bert_status bert_request_cancel(bert_request* request) {
  return c_api::call([&] { c_api::required(request, "request").state->stop.request_stop(); });
}

bert_status bert_request_progress(const bert_request* request, int64_t* done, int64_t* inputs) {
  if (done != nullptr) *done = 0;
  if (inputs != nullptr) *inputs = 0;
  return c_api::call([&] {
    const bert_request& of = c_api::required(request, "request");
    c_api::required(inputs, "inputs");
    const c_api::Lock lock(of.state->mutex);
    c_api::required(done, "done") = of.state->done;
    *inputs = of.inputs;
  });
}

bert_status bert_request_wait(const bert_request* request, int64_t timeout_ms, int32_t* is_done) {
  if (is_done != nullptr) *is_done = 0;
  return c_api::call([&] {
    bert_request::State& state = *c_api::required(request, "request").state;
    c_api::required(is_done, "is_done");
    c_api::Lock lock(state.mutex);
    const auto answered = [&] { return state.answered; };
    if (timeout_ms < 0) {
      state.changed.wait(lock, answered);
    } else {
      const std::chrono::milliseconds most(int64_t{1} << 40);
      state.changed.wait_for(lock, std::min(most, std::chrono::milliseconds(timeout_ms)), answered);
    }
    *is_done = state.answered ? 1 : 0;
  });
}

void bert_request_free(bert_request* request) {
  if (request == nullptr) return;
  const auto state = request->state;
  if (state->process == getpid()) {  // otherwise nothing is left that could end it
    state->stop.request_stop();
    c_api::Lock lock(state->mutex);
    state->changed.wait(lock, [&] {
      return state->over || (state->answered && state->calling == std::this_thread::get_id());
    });
  }
  delete request;
}

bert_status bert_request_matrix(bert_request* request, bert_result** result,
                                const bert_matrix** matrix) {
  return c_api::answer(result, matrix, [&](bert_result& owner) {
    return c_api::keep_matrix(owner, c_api::wait_for<bert::Output>(request));
  });
}

bert_status bert_request_matrices(bert_request* request, bert_result** result,
                                  const bert_matrix** matrices) {
  return c_api::answer(result, matrices, [&](bert_result& owner) {
    return c_api::keep_matrices(owner, c_api::wait_for<std::vector<bert::Output>>(request));
  });
}

bert_status bert_request_sparse(bert_request* request, bert_result** result,
                                const bert_sparse_vector** vectors) {
  return c_api::answer(result, vectors, [&](bert_result& owner) {
    return c_api::keep_sparse(owner, c_api::wait_for<std::vector<bert::SparseVector>>(request));
  });
}

bert_status bert_request_hidden(bert_request* request, bert_result** result,
                                const bert_hidden** hidden) {
  return c_api::answer(result, hidden, [&](bert_result& owner) {
    return c_api::keep_hidden(owner, c_api::wait_for<std::vector<bert::Hidden>>(request));
  });
}

bert_status bert_request_fill_mask(bert_request* request, bert_result** result,
                                   const bert_blanks** blanks) {
  return c_api::answer(result, blanks, [&](bert_result& owner) {
    return c_api::keep_blanks(owner,
                              c_api::wait_for<std::vector<std::vector<bert::Blank>>>(request));
  });
}

bert_status bert_request_tag(bert_request* request, bert_result** result, const bert_tags** tags) {
  return c_api::answer(result, tags, [&](bert_result& owner) {
    return c_api::keep_tags(owner, c_api::wait_for<std::vector<bert::Tags>>(request));
  });
}

bert_status bert_request_answer(bert_request* request, bert_result** result,
                                const bert_answer** answers) {
  return c_api::answer(result, answers, [&](bert_result& owner) {
    return c_api::keep_answers(owner, c_api::wait_for<std::vector<bert::Answer>>(request));
  });
}
