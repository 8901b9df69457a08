// SPDX-License-Identifier: Apache-2.0
//
// Encodes on the calling thread what a Model encodes on its workers: a server's thread, for which
// others wait, must not wait for a processor that computes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/bert_infer.h"

namespace bert::models {

// A lambda, as a function's type would be a symbol of the shared library.
inline constexpr auto on_this_thread = [](size_t count, const std::function<void(size_t i)>& body) {
  for (size_t i = 0; i < count; ++i) body(i);
};

// Like Model::tokenize().
std::vector<Encoding> encode_here(const Model& model, std::span<const Input> inputs, Role role);

// Like zero_shot(): pairs each text with each label's hypothesis; only texts are truncated.
std::vector<Encoding> encode_here(const Model& model, std::span<const std::string> texts,
                                  std::span<const std::string> labels, const std::string& form);

}  // namespace bert::models
