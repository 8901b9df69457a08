// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/infer/task_table.h"

namespace bert::tools {

// Which line of the input the answer on a line of a .jsonl or .tsv file belongs to, counted from 0:
// it stands at the beginning, as bert-infer writes it. Nothing if there is none.
std::optional<int64_t> index_of(std::string_view line, OutputFormat format);

// The end of a file of answers that may have been cut anywhere.
struct LastAnswer {
  int64_t end = 0;               // of the last whole line
  std::optional<int64_t> index;  // its index; nothing if there is no answer
};
// Throws std::runtime_error where the last line is not an answer.
LastAnswer find_last_answer(const std::string& path, OutputFormat format);

}  // namespace bert::tools
