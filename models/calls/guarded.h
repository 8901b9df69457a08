// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>

#include "engine/runtime.h"
#include "models/bert_infer.h"

namespace bert::models {

// Says nothing about a call's inputs, unlike other errors.
class OutOfMemory : public Error {
 public:
  OutOfMemory() : Error("out of memory") {}
};

// Runs body with default floats and turns whatever it throws into an Error.
template <typename Body>
decltype(auto) guarded(const Body& body) {
  const engine::DefaultFloats floats;
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory();
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

}  // namespace bert::models
