// SPDX-License-Identifier: Apache-2.0
//
// Where exceptions end and become a status with a message.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/bert_infer.h"
#include "models/c_api/bert_infer_c.h"

// Owns an answer's arrays: shared pointers remember how to destroy values of any type.
struct bert_result {
  // Moves a value here; what it holds in turn does not move.
  template <typename Value>
  const Value& keep(Value value) {
    auto owned = std::make_shared<const Value>(std::move(value));
    const Value& kept = *owned;
    values.push_back(std::move(owned));
    return kept;
  }

  std::vector<std::shared_ptr<const void>> values;
};

namespace bert::c_api {

// A mistake of the caller's: BERT_INVALID_ARGUMENT.
struct InvalidArgument : Error {
  using Error::Error;
};

// Records the exception that is being handled as this thread's message.
bert_status failure() noexcept;

template <typename Body>
bert_status call(const Body& body) noexcept {
  try {
    body();
    return BERT_OK;
  } catch (...) {
    return failure();
  }
}

template <typename T>
T& required(T* argument, std::string_view name) {
  if (argument == nullptr) throw InvalidArgument(fmt::format("{} is NULL", name));
  return *argument;
}

inline bert_text view(const std::string& text) { return {text.c_str(), text.size()}; }

// Calls body(owner), which returns the answer's array, and gives both to the caller.
template <typename View, typename Body>
bert_status answer(bert_result** result, const View** views, const Body& body) noexcept {
  if (result != nullptr) *result = nullptr;
  if (views != nullptr) *views = nullptr;
  return call([&] {
    required(result, "result");
    required(views, "the pointer for the answers");
    auto owner = std::make_unique<bert_result>();
    *views = body(*owner);
    *result = owner.release();
  });
}

}  // namespace bert::c_api
