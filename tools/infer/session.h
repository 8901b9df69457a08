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

// Computes and writes the answers to windows, in order, and counts them.
class Session {
 public:
  // input_name names a bad line's file; empty for the texts of the command line.
  Session(Answers& answers, AnswerWriter& writer, std::string input_name, bool skips_errors,
          Progress& progress);

  // An input that the library refuses is written as an error if these are skipped; otherwise it is
  // thrown as a std::runtime_error, once all before it are answered.
  void answer(const Window& window);
  void flush() { writer_.flush(); }

 private:
  void answer(const Window& window, size_t first, size_t count);
  void write(const Window& window, size_t first, size_t count);
  void find_bad_input(const Window& window, size_t first, size_t count, const bert::Error& error);
  void write_refused(size_t before);
  void refuse(const Source& source, std::string_view reason);

  Answers& answers_;
  AnswerWriter& writer_;
  const std::string input_name_;
  const bool skips_errors_;
  Progress& progress_;
  std::span<const Refused> refused_;  // of the window, those not written yet
};

}  // namespace bert::tools
