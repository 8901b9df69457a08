// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>

#include "engine/runtime.h"
#include "models/bert_infer.h"

namespace bert::models {

// Runs body with default floats and turns whatever it throws into an Error.
template <typename Body>
decltype(auto) guarded(const Body& body) {
  const engine::DefaultFloats floats;
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("out of memory");
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

}  // namespace bert::models
