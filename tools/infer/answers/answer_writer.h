// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "models/bert_infer.h"
#include "tools/console/output_file.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/task_table.h"

namespace bert::tools {

// Writes answers to a file, in the order of the calls.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  // `index` counts the inputs from 0; the answer is the i-th of `answers`. Throws NonFinite, having
  // written nothing, for a number that the format cannot hold.
  virtual void write(int64_t index, const Answers& answers, size_t i) = 0;
  virtual void finish() {}  // completes the file's header or end; does not close the file
  // After a write that failed: finishes with the answers that reached the file, or fewer if there
  // is no room for its end. Returns how many.
  int64_t finish_cut();

 protected:
  explicit AnswerWriter(OutputFile& file, int64_t headers = 0) : file_(file), headers_(headers) {}
  // Only the first `answers` are in the file.
  virtual void forget_after(int64_t) {}

  OutputFile& file_;

 private:
  const int64_t headers_;  // appended before the answers, of which each is appended at once
};

// The format can hold the answers of the task, which is not automatic. `file` and `info` must
// outlive the writer.
std::unique_ptr<AnswerWriter> make_writer(OutputFormat format, Task task, OutputFile& file,
                                          const bert::Info& info);

}  // namespace bert::tools
