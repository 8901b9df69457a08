// SPDX-License-Identifier: Apache-2.0
//
// What callers in C pass, checked and as the C++ API takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/c_api/c_call.h"

namespace bert::c_api {

// Throw if an array or a text is NULL or longer than memory; inputs are named by their index.
std::vector<Input> read_inputs(const bert_input* inputs, size_t count);
std::vector<Encoding> read_inputs(const bert_encoding* encodings, size_t count);
std::vector<Choices> read_inputs(const bert_choices* inputs, size_t count);
Role read_role(int32_t role);
std::vector<int> read_layers(const int32_t* layers, size_t count);
std::span<const float> read_floats(const float* values, size_t count, std::string_view name);

// Throw if a name is unknown or given twice, or a value is none that it may have.
Options read_load_options(const bert_option* options, size_t count);
TagOptions read_tag_options(const bert_option* options, size_t count);
AnswerOptions read_answer_options(const bert_option* options, size_t count);

}  // namespace bert::c_api
