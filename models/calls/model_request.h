// SPDX-License-Identifier: Apache-2.0
//
// A request to a model, whose inputs are batched with others' and whose results are split off.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/bert_queue.h"
#include "models/calls/guarded.h"
#include "models/calls/request_queue.h"

namespace bert::models {

// Moves results [first, first + count) of `some` to place `begin` of `all`, of `inputs` results.
inline void put(Output& all, size_t inputs, size_t begin, Output& some, size_t first,
                size_t count) {
  if (all.values.empty()) all = Output(static_cast<int64_t>(inputs), some.columns);
  const auto columns = static_cast<size_t>(some.columns);
  std::copy_n(some.values.data() + first * columns, count * columns,
              all.values.data() + begin * columns);
}
template <typename Result>
void put(std::vector<Result>& all, size_t inputs, size_t begin, std::vector<Result>& some,
         size_t first, size_t count) {
  all.resize(inputs);
  std::move(some.data() + first, some.data() + first + count, all.data() + begin);
}

// The exception being handled, which counts inputs from the part's first: says which part.
inline std::exception_ptr of_inputs(const Request::Part& part) {
  if (part.begin == 0) return std::current_exception();
  try {
    throw;
  } catch (const std::exception& error) {
    return std::make_exception_ptr(Error(
        fmt::format("of the inputs from {} to {}, {}", part.begin, part.end - 1, error.what())));
  }
}

// A request for what `compute` makes of inputs that the model takes as Items.
template <typename Item, typename Result>
class ModelRequest : public Request {
 public:
  using Compute = std::function<Result(std::span<const Item>)>;

  ModelRequest(std::string task, RequestOptions options, Compute compute, OnAnswer<Result> done)
      : Request(std::move(task), std::move(options)),
        compute_(std::move(compute)),
        done_(std::move(done)) {}

  void set_items(std::vector<Item> items, std::vector<int64_t> tokens) {
    items_ = std::move(items);
    tokens_ = std::move(tokens);
  }
  std::future<Result> future() { return promise_.get_future(); }

 private:
  std::vector<std::exception_ptr> compute(std::span<const Part> parts) override {
    std::vector<std::exception_ptr> errors(parts.size());
    std::vector<Item> joined;
    size_t inputs = 0;
    for (const Part& part : parts) inputs += part.inputs();
    try {
      joined.reserve(inputs);  // nothing that follows it throws before all are joined
      for (const Part& part : parts) {
        Item* const items = of(part).items_.data();
        std::move(items + part.begin, items + part.end, std::back_inserter(joined));
      }
      compute(parts, joined);
    } catch (...) {
      errors[0] = of_inputs(parts[0]);
      if (joined.size() < inputs) {
        std::ranges::fill(errors, errors[0]);
      } else if (parts.size() > 1) {
        errors = compute_each(parts, joined);
      }
    }
    return errors;
  }

  // After an error of a batch: computes each part alone, to find whose error it is.
  std::vector<std::exception_ptr> compute_each(std::span<const Part> parts,
                                               std::span<const Item> joined) {
    std::vector<std::exception_ptr> errors(parts.size());
    for (size_t i = 0, first = 0; i < parts.size(); first += parts[i++].inputs()) {
      try {
        compute(parts.subspan(i, 1), joined.subspan(first, parts[i].inputs()));
      } catch (...) {
        errors[i] = of_inputs(parts[i]);
      }
    }
    return errors;
  }

  void compute(std::span<const Part> parts, std::span<const Item> items) {
    guarded([&] {
      Result results = compute_(items);
      size_t first = 0;
      for (const Part& part : parts) {
        ModelRequest& request = of(part);
        const std::lock_guard lock(request.keeping_);
        put(request.results_, request.tokens_.size(), part.begin, results, first, part.inputs());
        first += part.inputs();
      }
    });
  }

  void answer(std::exception_ptr error) override {
    std::promise<Result> promise = std::move(promise_);
    if (error) {
      promise.set_exception(std::move(error));
    } else {
      promise.set_value(std::move(results_));
    }
    if (done_) std::exchange(done_, nullptr)(promise.get_future());
  }

  static ModelRequest& of(const Part& part) { return static_cast<ModelRequest&>(*part.request); }

  std::vector<Item> items_;
  const Compute compute_;
  std::mutex keeping_;
  Result results_;
  std::promise<Result> promise_;
  OnAnswer<Result> done_;
};

}  // namespace bert::models
