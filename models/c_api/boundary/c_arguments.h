// SPDX-License-Identifier: Apache-2.0
//
// What callers in C pass, checked and as the C++ API takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/bert_queue.h"
#include "models/c_api/boundary/c_call.h"

namespace bert::c_api {

// Throw if an array or a text is NULL or longer than memory; inputs are named by their index.
std::vector<Input> read_inputs(const bert_input* inputs, size_t count);
std::vector<Encoding> read_inputs(const bert_encoding* encodings, size_t count);
std::vector<Choices> read_inputs(const bert_choices* inputs, size_t count);
Role read_role(int32_t role);
std::vector<int> read_layers(const int32_t* layers, size_t count);
std::span<const int32_t> read_ids(const int32_t* ids, size_t count);
std::span<const float> read_floats(const float* values, size_t count, std::string_view name);

// The value of this name. Throws InvalidArgument if there is none.
template <typename Values>
const auto& find_by_name(const Values& values, const char* name, std::string_view where) {
  const auto found = values.find(&required(name, "name"));
  if (found == values.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, value] : values) names.push_back(known);
    throw InvalidArgument(
        fmt::format("{} has no '{}', expected one of {}", where, name, fmt::join(names, ", ")));
  }
  return found->second;
}

// Throw if a name is unknown or given twice, or a value is none that it may have.
Options read_load_options(const bert_option* options, size_t count);
TagOptions read_tag_options(const bert_option* options, size_t count);
AnswerOptions read_answer_options(const bert_option* options, size_t count);
QueueOptions read_queue_options(const bert_option* options, size_t count);
// Of a request: the deadline beside the options of its task.
struct SubmitOptions {
  int64_t deadline_ms = -1;  // from now; -1: none
  int k = 5;
  TagOptions tag;
  AnswerOptions answer;
  std::vector<int> layers;
};
SubmitOptions read_submit_options(std::string_view task, const bert_option* options, size_t count);

}  // namespace bert::c_api
