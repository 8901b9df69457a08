// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/service.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/console/numbers.h"
#include "tools/serve/routes/spell_error.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

// From kLongBody bytes on, a body is parsed and tokenised on the threads for long work, and from
// kLongPairs on if its route pairs one text with each of others. Answers to kLongAnswer inputs,
// or of kManyNumbers numbers, are written there too.
constexpr size_t kLongBody = 65536, kLongPairs = 4096;
constexpr int64_t kLongAnswer = 64, kManyNumbers = 65536;

double in_seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
int64_t in_milliseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// In a time that does not depend on where the two differ.
bool same_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned char>(c ^ secret[i]);
  }
  return difference == 0;
}

// What a request that ended without an answer, or an answer that cannot be spelt, means.
RequestError error_of(const std::exception_ptr& thrown, Refusal failure) {
  try {
    std::rethrow_exception(thrown);
  } catch (const RequestError& error) {
    return error;
  } catch (const bert::Unanswered& error) {
    switch (error.reason()) {
      case bert::Unanswered::Reason::cancelled:
        return {Refusal::cancelled, error.what()};
      case bert::Unanswered::Reason::deadline:
        return {Refusal::deadline, error.what()};
      case bert::Unanswered::Reason::closed:
        return {Refusal::stopping, error.what()};
      case bert::Unanswered::Reason::full:
        break;
    }
    return {Refusal::overloaded, "Model is overloaded"};
  } catch (const bert::Error& error) {
    return {failure, error.what()};
  } catch (const NonFinite& error) {
    return {Refusal::backend, error.what()};
  } catch (const std::bad_alloc&) {
    return {Refusal::internal, "out of memory"};
  } catch (const std::exception& error) {
    return {Refusal::internal, error.what()};
  }
}

// What is known of a request's tokens before they are counted, which some tasks leave to the queue.
int64_t expected_tokens(const Work& work) {
  constexpr int64_t kCharactersOfToken = 4;
  return std::max({work.tokens, work.characters / kCharactersOfToken, int64_t{1}});
}

// The key of "Bearer KEY", or "". The scheme's case does not matter (RFC 9110, 11.1).
std::string_view key_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  const bool is_bearer =
      std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, {},
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return is_bearer ? authorization.substr(kScheme.size()) : "";
}

}  // namespace

// A request that a model answers. It has a place among those that are answered at a time.
struct Service::Pending {
  Pending(std::shared_ptr<Places> counted, const HttpRequest& request, const Route& from)
      : answering(std::move(counted)), caller(request.caller), route(from), came(request.came) {}
  ~Pending() { leave(); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // Before the reply, so that a client's next request finds the place free.
  void leave() {
    if (!left.exchange(true)) answering->leave(caller);
  }

  const std::shared_ptr<Places> answering;  // outlives the service
  const std::string caller;
  std::atomic<bool> left = false;
  const Route& route;
  const Clock::time_point came;
  Clock::time_point submitted = {};
  std::atomic<Clock::rep> began = 0;  // to be computed
  Clock::time_point computed = {};
  int64_t inputs = 0, tokens = 0, characters = 0;
  bool is_batch = false;
  Refusal failure = Refusal::backend;
  Reply reply;
};

Service::Service(const ServeLimits& limits, std::string api_key,
                 std::shared_ptr<spdlog::logger> access_log)
    : api_key_(std::move(api_key)), access_log_(std::move(access_log)) {
  state_.limits = limits;
}

Service::~Service() {
  {
    const std::lock_guard lock(mutex_);
    state_.ready = false;  // what is called from now on must not see the models any more
  }
  state_.turns.close();
}

void Service::set_post(Post post, std::function<HttpStatistics()> statistics) {
  post_ = std::move(post);
  state_.http = std::move(statistics);
}

bool Service::load(const std::vector<ServedModels::Source>& sources, const bert::Options& options,
                   const std::function<bool()>& stops) {
  for (const ServedModels::Source& source : sources) {
    if (stops && stops()) return false;
    state_.models.load(source, options, [this] { hand_on(); });
  }
  if (stops && stops()) return false;
  state_.ready = true;
  return true;
}

void Service::check_key(std::string_view authorization) const {
  const std::string_view given = key_of(authorization);
  if (api_key_.empty() || same_secret(given, api_key_)) return;
  throw RequestError(Refusal::unauthorized, given.empty()
                                                ? "no API key, expected Authorization: Bearer KEY"
                                                : "the API key is wrong");
}

// Throws where the request is refused whatever its body is.
void Service::check(const HttpRequest& request, const FoundRoute& found, bool is_ready) const {
  const bool is_public = found.route != nullptr && found.route->is_public;
  if (!is_public && !is_ready) {
    throw RequestError(Refusal::loading, "models are being loaded, try again");
  }
  if (found.route == nullptr && found.allow.empty()) {
    throw RequestError(Refusal::no_route, fmt::format("there is no {} (/docs lists what there is)",
                                                      request.path.substr(0, 100)));
  }
  if (found.route == nullptr) {
    throw RequestError(Refusal::method,
                       fmt::format("{} is for {}, not for {}", request.path.substr(0, 100),
                                   found.allow, request.method));
  }
  if (!is_public && state_.draining) {
    throw RequestError(Refusal::stopping, "the server is stopping, try another");
  }
}

HttpResponse Service::failed(Dialect dialect, const RequestError& error) {
  state_.metrics.count_failure(name_of(error.why));
  return spell_error(dialect, error);
}

bool Service::takes(const HttpRequest& request, HttpResponse& response) {
  FoundRoute found;
  try {
    const std::string path = plain_path(request.path);
    found = find_route(request.method, path, nullptr);
    // Before a model is looked for: the names, too, are for those who have the key.
    if (found.route == nullptr || !found.route->is_public) check_key(request.authorization);
    const ServedModels* const served = models();
    found = find_route(request.method, path, served);
    check(request, found, served != nullptr);
    return true;
  } catch (const RequestError& error) {
    response = failed(dialect_of(request.path), error);
    if (error.why == Refusal::method) response.headers.emplace_back("Allow", found.allow);
    return false;
  }
}

void Service::handle(HttpRequest request, Reply reply) {
  try {
    const FoundRoute found = find_route(request.method, plain_path(request.path), models());
    if (request.body.size() < (found.route->makes_pairs ? kLongPairs : kLongBody)) {
      return run(request, found, reply);
    }
    post_([this, found, request = std::move(request), reply] { run(request, found, reply); }, true);
  } catch (...) {
    reply(
        failed(dialect_of(request.path), error_of(std::current_exception(), Refusal::validation)));
  }
}

void Service::run(const HttpRequest& request, const FoundRoute& found, const Reply& reply) {
  try {
    start(request, found, reply);
  } catch (...) {
    reply(failed(found.route->dialect, error_of(std::current_exception(), Refusal::validation)));
  }
}

void Service::start(const HttpRequest& request, const FoundRoute& found, const Reply& reply) {
  const Route& route = *found.route;
  const bool reads_body = !route.fields.empty();
  if (!reads_body) {
    const Call call = {request, json(), state_, found.named, route.fields};
    return reply(std::get<HttpResponse>(route.run(call)));
  }
  if (!state_.answering->take(request.caller, state_.limits.concurrent)) {
    throw RequestError(Refusal::overloaded, "Model is overloaded");
  }
  auto pending = std::make_shared<Pending>(state_.answering, request, route);
  const json body = parse_body(request.body);
  Outcome outcome = route.run({request, body, state_, found.named, route.fields});
  if (auto* const response = std::get_if<HttpResponse>(&outcome)) {
    pending->leave();
    return reply(std::move(*response));
  }
  ask(request, std::move(pending), std::get<Work>(std::move(outcome)), reply);
}

void Service::ask(const HttpRequest& request, std::shared_ptr<Pending> pending, Work work,
                  const Reply& reply) {
  if (work.numbers > static_cast<int64_t>(state_.limits.answer_bytes) / kBytesOfNumber) {
    throw RequestError(Refusal::validation,
                       fmt::format("the answer would have about {} numbers, expected at most {}: "
                                   "send fewer inputs at a time",
                                   work.numbers, state_.limits.answer_bytes / kBytesOfNumber));
  }
  pending->inputs = work.inputs;
  pending->tokens = work.tokens;
  pending->characters = work.characters;
  pending->is_batch = work.is_batch;
  pending->failure = work.failure;
  pending->reply = reply;
  pending->submitted = Clock::now();
  state_.metrics.count_request(work.is_batch);
  bert::RequestOptions options;
  options.stop = request.gone;
  options.deadline = pending->came + std::chrono::seconds(state_.limits.seconds);
  options.progress = [pending](int64_t done, int64_t) {
    if (done == 0) pending->began = Clock::now().time_since_epoch().count();
  };
  auto turn = std::make_shared<Turn>();
  turn->caller = request.caller;
  turn->tokens = expected_tokens(work);
  turn->gone = options.stop;
  turn->deadline = *options.deadline;
  turn->start = [this, pending, work = std::move(work), options = std::move(options)](
                    const std::shared_ptr<Turn>& started, bool background) mutable {
    options.background = background;
    const bool is_long = work.is_long || work.inputs >= kLongAnswer || work.numbers >= kManyNumbers;
    const bool is_late = work.is_computed_late;
    work.ask(std::move(options), [this, pending, started, is_long, is_late](Work::Spell spell) {
      pending->computed = Clock::now();
      if (is_late) {
        spell = [this, started, compute = std::move(spell)] {
          const std::shared_ptr<void> leaves(nullptr, [&](void*) { state_.turns.leave(*started); });
          return compute();
        };
      }
      deliver({pending, std::move(spell)}, is_long);
      if (!is_late) state_.turns.leave(*started);
    });
  };
  state_.turns.enter(turn);
}

void Service::deliver(Answer answer, bool is_long) {
  if (is_long) {
    return post_([this, a = std::move(answer)] { finish(*a.pending, a.spell); }, true);
  }
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
}

// The batches since the last time: mostly one.
void Service::count_batches() {
  const bert::QueueStatistics now = state_.models.statistics();
  const auto since = [](int64_t& seen, int64_t value) {
    return value - std::exchange(seen, value);
  };
  const int64_t batches = since(batches_.batches, now.batches);
  const auto inputs = static_cast<double>(since(batches_.batch_inputs, now.batch_inputs));
  const auto tokens = static_cast<double>(since(batches_.batch_tokens, now.batch_tokens));
  if (batches < 1) return;
  const auto count = static_cast<double>(batches);
  state_.metrics.batch_inputs.add(inputs / count, batches);
  state_.metrics.batch_tokens.add(tokens / count, batches);
}

// Waking the thread that writes once for each answer would cost as much as writing them.
void Service::hand_on() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
    if (state_.ready) count_batches();
  }
  if (answers.empty()) return;
  post_(
      [this, all = std::move(answers)] {
        for (const Answer& answer : all) finish(*answer.pending, answer.spell);
      },
      false);
}

void Service::finish(Pending& pending, const Work::Spell& spell) {
  HttpResponse response;
  try {
    Spelled spelled = spell();
    response.body = std::move(spelled.body);
    add_headers(pending, spelled.tokens.value_or(pending.tokens), response);
    state_.metrics.count_success(pending.is_batch);
  } catch (...) {
    response = failed(pending.route.dialect, error_of(std::current_exception(), pending.failure));
  }
  pending.leave();
  pending.reply(std::move(response));
}

void Service::add_headers(const Pending& pending, int64_t tokens, HttpResponse& response) {
  const Clock::time_point now = Clock::now();
  const Clock::rep began_ticks = pending.began;
  const Clock::time_point began =
      began_ticks == 0 ? pending.submitted : Clock::time_point(Clock::duration(began_ticks));
  const Clock::duration total = now - pending.came, read = pending.submitted - pending.came;
  const Clock::duration waited = began - pending.submitted, took = pending.computed - began;
  const auto add = [&](std::string_view name, int64_t value) {
    response.headers.emplace_back(name, std::to_string(value));
  };
  response.headers.reserve(8);
  response.headers.emplace_back("X-Compute-Type", "cpu");
  add("X-Compute-Time", in_milliseconds(total));
  add("X-Compute-Characters", pending.characters);
  add("X-Compute-Tokens", tokens);
  add("X-Total-Time", in_milliseconds(total));
  add("X-Tokenization-Time", in_milliseconds(read));
  add("X-Queue-Time", in_milliseconds(waited));
  add("X-Inference-Time", in_milliseconds(took));
  state_.metrics.duration.add(in_seconds(total));
  state_.metrics.tokenization.add(in_seconds(read));
  state_.metrics.queue.add(in_seconds(waited));
  state_.metrics.inference.add(in_seconds(took));
  if (pending.inputs > 0) {
    state_.metrics.input_length.add(static_cast<double>(tokens) /
                                    static_cast<double>(pending.inputs));
  }
}

HttpResponse Service::refuse(const HttpRequest& request, int status, const std::string& reason) {
  const bool is_size = status == 413, is_content = status == 422;
  RequestError error(is_size      ? Refusal::too_large
                     : is_content ? Refusal::validation
                                  : Refusal::transport,
                     reason);
  if (!is_content) error.status = status;  // which the dialects spell differently
  return failed(dialect_of(request.path), error);
}

void Service::log(const HttpRequest& request, const HttpResponse& response, size_t bytes) {
  state_.metrics.count_response(response.status);
  if (!access_log_) return;
  std::string line = "\"id\": ";
  append_quoted(line, request.id);
  line += ", \"client\": ";
  append_quoted(line, request.client);
  line += ", \"method\": ";
  append_quoted(line, request.method);
  line += ", \"path\": ";
  append_quoted(line, std::string_view(request.path).substr(0, 200));
  line += fmt::format(", \"status\": {}, \"bytes\": {}, \"ms\": {:.3f}", response.status, bytes,
                      1000 * in_seconds(Clock::now() - request.came));
  for (const auto& [name, value] : response.headers) {
    if (name == "X-Compute-Tokens") line += fmt::format(", \"tokens\": {}", value);
    if (name == "X-Queue-Time") line += fmt::format(", \"queue_ms\": {}", value);
    if (name == "X-Inference-Time") line += fmt::format(", \"inference_ms\": {}", value);
  }
  access_log_->info("{}}}", line);
}

}  // namespace bert::tools::serve
