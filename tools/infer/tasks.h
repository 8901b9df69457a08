// SPDX-License-Identifier: Apache-2.0
//
// bert-infer's tasks whose answer is more than a row of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"
#include "tools/infer/infer_options.h"

namespace bert::tools {

// A line of input: a text or pair, ids, or a text and its choices.
struct TaskInput {
  bert::Input texts;
  bert::Encoding encoding;  // where the line gives ids
  std::vector<std::string> choices;
  bool has_ids = false;
};

struct TaskAnswer {
  nlohmann::ordered_json json;  // without the index
  std::string text;             // for a person: a line or several
  int64_t tokens = 0;
  bool truncated = false;
};

// The input that a line holds. Throws std::runtime_error with the reason where it holds none.
TaskInput parse_task_line(std::string_view line, InputFormat format, Task task);

// Throws std::runtime_error where the task needs other texts.
void check_texts(const TaskInput& input, Task task);

// One answer an input, in their order.
std::vector<TaskAnswer> answer_task(const bert::Model& model, const InferOptions& options,
                                    Task task, std::span<const TaskInput> inputs);

}  // namespace bert::tools
