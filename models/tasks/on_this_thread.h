// SPDX-License-Identifier: Apache-2.0
//
// What a Model encodes on its workers, encoded by the calling thread instead: one of a server, on
// which others wait, must not wait for a processor that computes.
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

// As Model::tokenize() does.
std::vector<Encoding> encode_here(const Model& model, std::span<const Input> inputs, Role role);

// As zero_shot() does: each text with each label's hypothesis, of which only the text is truncated.
std::vector<Encoding> encode_here(const Model& model, std::span<const std::string> texts,
                                  std::span<const std::string> labels, const std::string& form);

}  // namespace bert::models
