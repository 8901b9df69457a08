// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/bert_infer.h"
#include "tools/console/output_file.h"
#include "tools/infer/answers/answers.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"
#include "tools/infer/task_table.h"

namespace bert::tools {

// Which input an answer is for.
struct InputName {
  int64_t index;               // of its line, counted from 0
  std::string_view kept;       // members of a JSON object that were passed through
  std::string_view text = {};  // as Source has it
};

// Writes answers to a file, in the order of the calls.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  // The answer is the i-th of `answers`. Throws NonFinite, having written nothing, for a number
  // that the format cannot hold.
  virtual void write(const InputName& input, const Answers& answers, size_t i) = 0;
  // For a line that is no input. Formats that only hold numbers leave it out.
  virtual void write_error(const InputName&, int64_t /*line*/, std::string_view /*reason*/) {}
  // Lets whoever reads the file see all answers so far.
  virtual void flush() { file_.flush(); }
  virtual void finish() {}  // completes the file's header or end; does not close the file
  // After a write that failed: finishes with the answers that reached the file, or fewer if there
  // is no room for its end. Returns how many.
  virtual int64_t finish_cut();
  // As OutputFile's functions of these names, for all files that hold the answers.
  virtual void close() { file_.close(); }
  virtual std::string keep_partial() { return file_.keep_partial(); }
  virtual void discard() { file_.discard(); }

 protected:
  explicit AnswerWriter(OutputFile& file, int64_t headers = 0) : file_(file), headers_(headers) {}
  // Only the first `answers` are in the file. Returns where the last of them ends.
  virtual int64_t forget_after(int64_t /*answers*/) { return file_.size(); }

  OutputFile& file_;

 private:
  const int64_t headers_;  // appended before the answers, of which each is appended at once
};

// The bytes of a .npy file's header, and of each of its rows.
constexpr int64_t kNpyHeader = 128;
int64_t npy_row_bytes(Task task, const bert::Info& info);

// The output's format can hold the answers of the task. The arguments must outlive the writer.
// If there are answers in the file, it goes on with them (not with .safetensors).
std::unique_ptr<AnswerWriter> make_writer(const InferOptions& options, const LoadedModel& loaded,
                                          OutputFile& file);

// The same as the options say, with --task rank's answers in the order of their scores.
std::unique_ptr<AnswerWriter> make_task_writer(const InferOptions& options,
                                               const LoadedModel& loaded, OutputFile& file);

}  // namespace bert::tools
