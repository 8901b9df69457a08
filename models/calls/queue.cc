// SPDX-License-Identifier: Apache-2.0
//
// bert::Queue: what its functions compute, and how long their inputs are.
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/calls/model_request.h"
#include "models/calls/workers.h"
#include "models/model_impl.h"

namespace bert {
namespace {

using models::guarded;

// Calls body(i) for each input; an error names it.
template <typename Body>
void for_each_input(size_t inputs, const Body& body) {
  for (size_t i = 0; i < inputs; ++i) {
    try {
      body(i);
    } catch (const Error& error) {
      throw Error(fmt::format("input {}: {}", i, error.what()));
    }
  }
}

std::vector<Encoding> tokenize(const Model& model, const std::vector<Input>& inputs) {
  constexpr size_t kFew = 16;  // too few to wait for a busy processor
  if (inputs.size() > kFew) return model.tokenize(inputs);
  std::vector<Encoding> encodings(inputs.size());
  for_each_input(inputs.size(),
                 [&](size_t i) { encodings[i] = model.tokenizer().encode(inputs[i]); });
  return encodings;
}

models::RequestQueue::Limits limits_of(const Model& model, const QueueOptions& options) {
  const auto& impl = Internals::impl(model);
  const auto check = [](const char* name, int64_t limit) {
    if (limit < 0) throw Error(fmt::format("{} is {}, expected at least 0", name, limit));
  };
  check("max_requests", options.max_requests);
  check("max_tokens", options.max_tokens);
  return {.waiting = options,
          .small_tokens = std::min(models::kSmallCall, impl.batch_tokens),
          .batch_tokens = impl.batch_tokens,
          .workers = impl.workers.count()};
}

// Requests whose keys are equal share a batch. Every option is named, so that a new one does not
// compile before it is part of the key.
std::string key_of(const TagOptions& how) {
  const auto& [aggregation, stride, labels, threshold, nested, multi_label] = how;
  std::string key = fmt::format("tag {} {} {} {} {}", static_cast<int>(aggregation), stride,
                                threshold, nested, multi_label);
  for (const std::string& label : labels) key += fmt::format(" {} {}", label.size(), label);
  return key;
}
std::string key_of(const AnswerOptions& how) {
  const auto& [stride, most_tokens, top_k] = how;
  return fmt::format("answer {} {} {}", stride, most_tokens, top_k);
}

}  // namespace

Unanswered::Unanswered(Reason reason, const std::string& what) : Error(what), reason_(reason) {}
Unanswered::~Unanswered() = default;

struct __attribute__((visibility("hidden"))) Queue::Impl {
  Impl(const Model& of, const QueueOptions& options)
      : model(of), requests(limits_of(of, options)) {}

  int64_t whole_length(const Input& input) const {
    return Internals::impl(model).whole_length(input);
  }

  // compute(model, items) answers; set_items(request) gives the request its items, or throws.
  template <typename Item, typename Result, typename Compute, typename SetItems>
  std::future<Result> submit(std::string task, RequestOptions options, OnAnswer<Result> done,
                             const Compute& compute, const SetItems& set_items) {
    return guarded([&] {
      const bool wants_future = !done;
      const auto request = std::make_shared<models::ModelRequest<Item, Result>>(
          std::move(task), std::move(options),
          [this, compute](std::span<const Item> items) { return compute(model, items); },
          std::move(done));
      std::future<Result> future;
      if (wants_future) future = request->future();
      std::exception_ptr wrong;
      try {
        guarded([&] { set_items(*request); });
      } catch (const Error&) {
        wrong = std::current_exception();
      }
      requests.submit(request, std::move(wrong));
      return future;
    });
  }

  // For functions that take encodings.
  template <typename Result, typename Compute>
  std::future<Result> encode(std::string task, Inputs inputs, RequestOptions options,
                             OnAnswer<Result> done, const Compute& compute,
                             bool reads_end = false) {
    const auto as_usual = [this](const auto& texts) { return tokenize(model, texts); };
    return encode(std::move(task), std::move(inputs), std::move(options), std::move(done), compute,
                  as_usual, reads_end);
  }
  template <typename Result, typename Compute, typename Tokenize>
  std::future<Result> encode(std::string task, Inputs inputs, RequestOptions options,
                             OnAnswer<Result> done, const Compute& compute,
                             const Tokenize& tokenized, bool reads_end = false) {
    return submit<Encoding, Result>(
        std::move(task), std::move(options), std::move(done), compute, [&](auto& request) {
          if (const auto* texts = std::get_if<std::vector<Input>>(&inputs)) {
            inputs = tokenized(*texts);
          }
          auto& encodings = std::get<std::vector<Encoding>>(inputs);
          std::vector<int64_t> tokens;
          for (size_t i = 0; i < encodings.size(); ++i) {
            const auto index = static_cast<int64_t>(i);
            const models::Config& config = Internals::impl(model).config;
            models::check_encoding(encodings[i], index, config);
            if (reads_end) models::check_end(encodings[i], index, config);
            tokens.push_back(std::ssize(encodings[i].ids));
          }
          request.set_items(std::move(encodings), std::move(tokens));
        });
  }

  // For functions that take texts: count(input) is the number of an input's tokens.
  template <typename Result, typename Item, typename Compute, typename Count>
  std::future<Result> read(std::string task, std::vector<Item> inputs, RequestOptions options,
                           OnAnswer<Result> done, const Compute& compute, const Count& count) {
    // Counting takes long, and is in vain if nobody waits any more.
    const bool is_over =
        options.stop.stop_requested() ||
        (options.deadline && *options.deadline <= std::chrono::steady_clock::now());
    return submit<Item, Result>(
        std::move(task), std::move(options), std::move(done), compute, [&, is_over](auto& request) {
          std::vector<int64_t> tokens(inputs.size());
          if (!is_over) {
            for_each_input(inputs.size(), [&](size_t i) { tokens[i] = count(inputs[i]); });
          }
          request.set_items(std::move(inputs), std::move(tokens));
        });
  }

  std::future<Output> run(Inputs inputs, RequestOptions options, OnAnswer<Output> done) {
    return encode(
        "run", std::move(inputs), std::move(options), std::move(done),
        [](const Model& m, auto items) { return m.run(items); }, true);
  }
  std::future<std::vector<Output>> run_tokens(Inputs inputs, RequestOptions options,
                                              OnAnswer<std::vector<Output>> done) {
    return encode("run_tokens", std::move(inputs), std::move(options), std::move(done),
                  [](const Model& m, auto items) { return m.run_tokens(items); });
  }
  std::future<Output> embed(Inputs inputs, RequestOptions options, OnAnswer<Output> done) {
    return encode("embed", std::move(inputs), std::move(options), std::move(done),
                  [](const Model& m, auto items) { return m.embed(items); });
  }
  std::future<std::vector<SparseVector>> sparse(Inputs inputs, RequestOptions options,
                                                OnAnswer<std::vector<SparseVector>> done) {
    return encode("sparse", std::move(inputs), std::move(options), std::move(done),
                  [](const Model& m, auto items) { return m.sparse(items); });
  }
  std::future<std::vector<Output>> multi_vector(Inputs inputs, Role role, RequestOptions options,
                                                OnAnswer<std::vector<Output>> done) {
    return encode(
        role == Role::query ? "multi_vector query" : "multi_vector document", std::move(inputs),
        std::move(options), std::move(done),
        [role](const Model& m, auto items) { return m.multi_vector(items, role); },
        [this, role](const auto& texts) { return model.tokenize(texts, role); });
  }
  std::future<std::vector<Hidden>> hidden(Inputs inputs, const std::vector<int>& layers,
                                          RequestOptions options,
                                          OnAnswer<std::vector<Hidden>> done) {
    return encode(fmt::format("hidden {}", fmt::join(layers, ",")), std::move(inputs),
                  std::move(options), std::move(done),
                  [layers](const Model& m, auto items) { return m.hidden(items, layers); });
  }
  std::future<std::vector<std::vector<Blank>>> fill_mask(
      Inputs inputs, int k, RequestOptions options,
      OnAnswer<std::vector<std::vector<Blank>>> done) {
    return encode(fmt::format("fill_mask {}", k), std::move(inputs), std::move(options),
                  std::move(done),
                  [k](const Model& m, auto items) { return m.fill_mask(items, k); });
  }
  std::future<std::vector<Tags>> tag(std::vector<Input> inputs, const TagOptions& how,
                                     RequestOptions options, OnAnswer<std::vector<Tags>> done) {
    return read(
        key_of(how), std::move(inputs), std::move(options), std::move(done),
        [how](const Model& m, auto items) { return m.tag(items, how); },
        [this](const Input& input) { return whole_length(input); });
  }
  std::future<std::vector<Answer>> answer(std::vector<Input> inputs, const AnswerOptions& how,
                                          RequestOptions options,
                                          OnAnswer<std::vector<Answer>> done) {
    return read(
        key_of(how), std::move(inputs), std::move(options), std::move(done),
        [how](const Model& m, auto items) { return m.answer(items, how); },
        [this](const Input& input) { return whole_length(input); });
  }
  std::future<std::vector<Choice>> choose(std::vector<Choices> inputs, RequestOptions options,
                                          OnAnswer<std::vector<Choice>> done) {
    return read(
        "choose", std::move(inputs), std::move(options), std::move(done),
        [](const Model& m, auto items) { return m.choose(items); },
        [this](const Choices& input) {
          int64_t tokens = 0;
          for (const std::string& choice : input.choices) {
            tokens += whole_length({input.first, choice});
          }
          return tokens;
        });
  }

  Model model;
  models::RequestQueue requests;
};

// A forked child has no threads that could be ended: what they use stays, but not the model.
Queue::Queue(const Model& model, const QueueOptions& options)
    : impl_(guarded([&] { return std::make_unique<Impl>(model, options); })) {}
Queue::~Queue() {
  if (!impl_->requests.in_child()) return;
  const Model unloaded = std::move(impl_->model);
  static_cast<void>(impl_.release());
}

const Model& Queue::model() const { return impl_->model; }
QueueStatistics Queue::statistics() const { return impl_->requests.statistics(); }

std::future<Output> Queue::run(Inputs inputs, RequestOptions options) {
  return impl_->run(std::move(inputs), std::move(options), nullptr);
}
void Queue::run(Inputs inputs, RequestOptions options, OnAnswer<Output> done) {
  impl_->run(std::move(inputs), std::move(options), std::move(done));
}
std::future<std::vector<Output>> Queue::run_tokens(Inputs inputs, RequestOptions options) {
  return impl_->run_tokens(std::move(inputs), std::move(options), nullptr);
}
void Queue::run_tokens(Inputs inputs, RequestOptions options, OnAnswer<std::vector<Output>> done) {
  impl_->run_tokens(std::move(inputs), std::move(options), std::move(done));
}
std::future<Output> Queue::embed(Inputs inputs, RequestOptions options) {
  return impl_->embed(std::move(inputs), std::move(options), nullptr);
}
void Queue::embed(Inputs inputs, RequestOptions options, OnAnswer<Output> done) {
  impl_->embed(std::move(inputs), std::move(options), std::move(done));
}
std::future<std::vector<SparseVector>> Queue::sparse(Inputs inputs, RequestOptions options) {
  return impl_->sparse(std::move(inputs), std::move(options), nullptr);
}
void Queue::sparse(Inputs inputs, RequestOptions options,
                   OnAnswer<std::vector<SparseVector>> done) {
  impl_->sparse(std::move(inputs), std::move(options), std::move(done));
}
std::future<std::vector<Output>> Queue::multi_vector(Inputs inputs, Role role,
                                                     RequestOptions options) {
  return impl_->multi_vector(std::move(inputs), role, std::move(options), nullptr);
}
void Queue::multi_vector(Inputs inputs, Role role, RequestOptions options,
                         OnAnswer<std::vector<Output>> done) {
  impl_->multi_vector(std::move(inputs), role, std::move(options), std::move(done));
}
std::future<std::vector<Hidden>> Queue::hidden(Inputs inputs, const std::vector<int>& layers,
                                               RequestOptions options) {
  return impl_->hidden(std::move(inputs), layers, std::move(options), nullptr);
}
void Queue::hidden(Inputs inputs, const std::vector<int>& layers, RequestOptions options,
                   OnAnswer<std::vector<Hidden>> done) {
  impl_->hidden(std::move(inputs), layers, std::move(options), std::move(done));
}
std::future<std::vector<std::vector<Blank>>> Queue::fill_mask(Inputs inputs, int k,
                                                              RequestOptions options) {
  return impl_->fill_mask(std::move(inputs), k, std::move(options), nullptr);
}
void Queue::fill_mask(Inputs inputs, int k, RequestOptions options,
                      OnAnswer<std::vector<std::vector<Blank>>> done) {
  impl_->fill_mask(std::move(inputs), k, std::move(options), std::move(done));
}
std::future<std::vector<Tags>> Queue::tag(std::vector<Input> inputs, const TagOptions& tag_options,
                                          RequestOptions options) {
  return impl_->tag(std::move(inputs), tag_options, std::move(options), nullptr);
}
void Queue::tag(std::vector<Input> inputs, const TagOptions& tag_options, RequestOptions options,
                OnAnswer<std::vector<Tags>> done) {
  impl_->tag(std::move(inputs), tag_options, std::move(options), std::move(done));
}
std::future<std::vector<Answer>> Queue::answer(std::vector<Input> inputs,
                                               const AnswerOptions& answer_options,
                                               RequestOptions options) {
  return impl_->answer(std::move(inputs), answer_options, std::move(options), nullptr);
}
void Queue::answer(std::vector<Input> inputs, const AnswerOptions& answer_options,
                   RequestOptions options, OnAnswer<std::vector<Answer>> done) {
  impl_->answer(std::move(inputs), answer_options, std::move(options), std::move(done));
}
std::future<std::vector<Choice>> Queue::choose(std::vector<Choices> inputs,
                                               RequestOptions options) {
  return impl_->choose(std::move(inputs), std::move(options), nullptr);
}
void Queue::choose(std::vector<Choices> inputs, RequestOptions options,
                   OnAnswer<std::vector<Choice>> done) {
  impl_->choose(std::move(inputs), std::move(options), std::move(done));
}

}  // namespace bert
