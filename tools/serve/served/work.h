// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "models/bert_queue.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {

// What a number takes in memory and in an answer.
inline constexpr int64_t kBytesOfNumber = 16;

// A body, and the tokens that it took to compute where only the answer tells.
struct Spelled {
  std::string body;
  std::optional<int64_t> tokens = std::nullopt;
};

// The part of a request that a model computes, and how its answer is written.
struct Work {
  using Spell = std::function<Spelled()>;  // may throw what the model or the spelling throws
  using Deliver = std::function<void(Spell)>;

  int64_t inputs = 0, tokens = 0, characters = 0;
  int64_t numbers = 0;  // in the answer, about
  bool is_batch = false;
  bool is_long = false;                // spelling takes long
  bool is_computed_late = false;       // by the spelling, not by the queue
  Refusal failure = Refusal::backend;  // what a bert::Error in the answer means
  // Submits to the queue. Deliver is called once, on a thread of the queue.
  std::function<void(bert::RequestOptions, Deliver)> ask;
};

// submit(options, done) is a call of bert::Queue; spell(answer) returns Spelled.
template <typename Result, typename Submit, typename SpellAnswer>
void set_ask(Work& work, Submit submit, SpellAnswer spell) {
  work.ask = [submit = std::move(submit), spell = std::move(spell)](bert::RequestOptions options,
                                                                    Work::Deliver deliver) mutable {
    submit(std::move(options),
           bert::OnAnswer<Result>([deliver = std::move(deliver),
                                   spell = std::move(spell)](std::future<Result> answer) {
             // In a shared pointer, as a std::function is copied.
             auto held = std::make_shared<std::future<Result>>(std::move(answer));
             deliver([held, spell] { return spell(held->get()); });
           }));
  };
}

}  // namespace bert::tools::serve
