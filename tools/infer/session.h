// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "tools/console/progress.h"
#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/inputs/task_inputs.h"

namespace bert::tools {

// Has windows answered and written, in their order, and counts what was.
class Session {
 public:
  // input_name names a bad line's file; empty for the texts of the command line.
  Session(Answers& answers, AnswerWriter& writer, std::string input_name, Progress& progress);

  // Throws std::runtime_error for an input that the library refuses, once all before it are
  // answered.
  void answer(const Window& window) { answer(window, 0, window.lines.size()); }

 private:
  void answer(const Window& window, size_t first, size_t count);
  void write(const Window& window, size_t first, size_t count);
  std::runtime_error bad_input(int64_t line, std::string_view reason) const;

  Answers& answers_;
  AnswerWriter& writer_;
  const std::string input_name_;
  Progress& progress_;
};

}  // namespace bert::tools
